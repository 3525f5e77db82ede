"""An index out of bounds: when it raises, what it says, and that nothing else is harmed."""

import numpy as np
import pytest

import quern


@pytest.fixture(params=["off", "later", "now"])
def check(request):
    quern.config.index_check = request.param
    yield request.param
    quern.config.index_check = "later"


def test_when_it_raises(device, check):
    array = quern.arange(10.0)
    key = quern.asarray([3, 99, 4])
    soon = check == "now" or device.name == "cpu"
    if check == "off":
        assert array[key].tolist() == [3, 0, 4]
        return
    if soon:
        with pytest.raises(IndexError, match="index 99 is out of bounds for axis 0 with size 10"):
            array[key]
    else:
        result = array[key]
        with pytest.raises(IndexError, match=r"index 99 .*\n.*test_checks.py:\d+"):
            result.get()
    # The process, the device and its stream are as before.
    assert array[quern.asarray([3, -1])].tolist() == [3, 9]
    device.synchronize()


def test_nothing_is_written_at_a_wrong_index(device, check):
    around = quern.zeros(30)
    array = around[10:20]
    key = quern.asarray([2, -11, 10, 1 << 40, -(1 << 40)])
    try:
        array[key] = 5
        device.synchronize()
    except IndexError:
        assert check != "off"
    else:
        assert check == "off"
    wanted = np.zeros(30)
    wanted[12] = 5
    assert around.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", ["take", "put", "take_along_axis", "add.at", "scatter_add"])
def test_every_function_checks(device, name):
    array = quern.zeros(8)
    key = quern.asarray([1, 8])
    work = {
        "take": lambda: array.take(key),
        "put": lambda: array.put(key, 1),
        "take_along_axis": lambda: quern.take_along_axis(array, key, 0),
        "add.at": lambda: quern.add.at(array, key, 1.0),
        "scatter_add": lambda: quern.x.scatter_add(array, key, 1.0),
    }[name]

    def run():
        work()
        device.synchronize()

    with pytest.raises(IndexError, match="index 8 is out of bounds for axis 0 with size 8"):
        run()
    assert array[0] == 0


def test_settings(device):
    assert quern.config.index_check == "later"
    with pytest.raises(ValueError, match="index_check"):
        quern.config.index_check = "sometimes"
