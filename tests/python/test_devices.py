"""Devices and their memory pools: names, what is current, properties, figures, limits, exhaustion."""

import pickle
import threading

import pytest

import quern
from quern import cuda


def test_the_cpu_is_always_there():
    cpu = quern.Device("cpu")
    assert cpu.is_cpu
    assert cpu.name == "cpu"
    assert "cpu" in quern._core.device_names()
    assert cpu == quern.Device("cpu")
    assert hash(cpu) == hash(quern.Device("cpu"))
    assert cpu != "cpu"
    if not cuda.is_available():
        assert quern.Device(0) == cpu
        assert cpu.id == 0
    else:
        assert quern.Device(0).name == "cuda:0"
        assert cpu.id == -1
    assert quern.Device(cpu.id) == cpu


def test_current(device):
    assert quern.Device() == device
    assert int(device) == device.id == cuda.get_device_id()
    with quern.Device("cpu") as cpu:
        assert quern.Device() == cpu
        with device:
            assert quern.Device() == device
        assert quern.Device() == cpu
    assert quern.Device() == device
    assert quern.Device(device) == device
    quern.Device("cpu").use()
    assert quern.Device() == cpu
    assert device.use() is device


def test_current_is_each_threads_own():
    names = quern._core.device_names()
    seen = []
    with quern.Device(names[-1]):
        thread = threading.Thread(target=lambda: seen.append(quern.Device()))
        thread.start()
        thread.join()
    assert seen == [quern.Device()]


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "", "cpu:1", 99, -2])
def test_no_such_device(name):
    with pytest.raises(ValueError, match="cpu"):
        quern.Device(name)


def test_wrong_type():
    for device in (1.5, [0], b"cpu", True):
        with pytest.raises(TypeError, match="device"):
            quern.Device(device)


def test_properties(device):
    assert device.attributes["MaxThreadsPerBlock"] == 1024
    free, total = device.mem_info
    assert 0 < free <= total
    assert device.arch
    assert device.product
    assert device.compute_capability.isdigit()
    assert device.name in repr(device)
    assert str(device) == device.name
    assert pickle.loads(pickle.dumps(device)) == device
    device.synchronize()
    quern.synchronize()
    quern.synchronize(device)
    if device.is_cpu:
        with pytest.raises(NotImplementedError):
            _ = device.pci_bus_id


def test_runtime_functions(device):
    runtime = cuda.runtime
    assert runtime.getDevice() == device.id
    assert runtime.getDeviceCount() >= 1
    assert runtime.is_hip is False
    runtime.deviceSynchronize()
    runtime.streamSynchronize(0)
    assert runtime.memGetInfo()[1] == device.mem_info[1]
    assert runtime.getDeviceProperties(device.id)["multiProcessorCount"] >= 1
    assert (runtime.driverGetVersion() > 0) == cuda.is_available()
    assert runtime.deviceGetAttribute("WarpSize", device.id) >= 1
    runtime.setDevice(device.id)


def test_pool_figures(device):
    pool = quern.get_default_memory_pool()
    pool.free_all_blocks()
    used = pool.used_bytes()
    array = quern.empty(1000, "u1")
    assert pool.used_bytes() == used + 1024  # rounded to 512
    assert pool.total_bytes() >= pool.used_bytes()
    view = array[10:]
    del array
    assert pool.used_bytes() == used + 1024
    del view
    assert pool.used_bytes() == used
    assert pool.free_bytes() == pool.total_bytes() - pool.used_bytes()
    assert pool.n_free_blocks() >= 1
    pool.free_all_blocks()
    assert cuda.MemoryPool(device).used_bytes() == used
    assert quern.get_default_pinned_memory_pool().n_free_blocks() >= 0
    quern.get_default_pinned_memory_pool().free_all_blocks()


def test_pool_limit(device):
    pool = quern.get_default_memory_pool()
    before = pool.get_limit()
    try:
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + 2**20)
        with pytest.raises(quern.OutOfMemoryError, match=r"bytes|iB") as error:
            quern.empty(2**30, "u1")
        assert error.value.requested_bytes == 2**30
        assert error.value.limit_bytes == pool.get_limit()
        assert isinstance(error.value, MemoryError)
        back = pickle.loads(pickle.dumps(error.value))
        assert back.requested_bytes == 2**30
        pool.set_limit(fraction=0.5)
        assert pool.get_limit() == pytest.approx(device.mem_info[1] / 2, rel=1e-6)
        with pytest.raises(ValueError, match="fraction"):
            pool.set_limit(fraction=1.5)
        with pytest.raises(ValueError, match="one time"):
            pool.set_limit(1, fraction=0.5)
        with pytest.raises(ValueError, match="negative"):
            pool.set_limit(-1)
    finally:
        pool.set_limit(before)


def test_threads_allocate_and_copy(device):
    failures = []

    def work(seed):
        try:
            with device:
                array = quern.full((50, 7), seed)
                for k in range(30):
                    array = array.copy()
                    part = array[k : k + 3].T
                    assert set(part.get().ravel().tolist()) <= {seed}
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
