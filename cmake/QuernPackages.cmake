# What the build needs from outside: {fmt}, xxHash and the CUDA headers. Nothing here links a CUDA library.
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(Python 3.11 COMPONENTS Interpreter REQUIRED)

# Python packages that carry headers: nvidia-cuda-runtime (cuda.h), nvidia-cuda-nvrtc (nvrtc.h), pyarrow (xxhash.h).
execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import sys, sysconfig; print(';'.join(dict.fromkeys([sysconfig.get_paths()['purelib'], sysconfig.get_paths()['platlib'], *[p for p in sys.path if p.endswith('-packages')]])))"
    OUTPUT_VARIABLE quern_site_packages OUTPUT_STRIP_TRAILING_WHITESPACE)
set(quern_cuda_hints $ENV{CUDA_PATH}/include $ENV{CUDA_HOME}/include /usr/local/cuda/include /opt/cuda/include)
set(quern_xxhash_hints)
foreach(site IN LISTS quern_site_packages)
    file(GLOB folders ${site}/nvidia/cu*/include ${site}/nvidia/cuda_runtime/include ${site}/nvidia/cuda_nvrtc/include)
    list(APPEND quern_cuda_hints ${folders})
    list(APPEND quern_xxhash_hints ${site}/pyarrow/include/arrow/vendored/xxhash)
endforeach()

find_path(QUERN_CUDA_INCLUDE cuda.h HINTS ${quern_cuda_hints})
find_path(QUERN_NVRTC_INCLUDE nvrtc.h HINTS ${quern_cuda_hints})
find_path(QUERN_XXHASH_INCLUDE xxhash.h HINTS ${quern_xxhash_hints})
foreach(pair "CUDA_INCLUDE;cuda.h;pip install nvidia-cuda-runtime" "NVRTC_INCLUDE;nvrtc.h;pip install nvidia-cuda-nvrtc"
        "XXHASH_INCLUDE;xxhash.h;apt-get install libxxhash-dev")
    list(GET pair 0 variable)
    list(GET pair 1 header)
    list(GET pair 2 remedy)
    if(NOT QUERN_${variable})
        message(FATAL_ERROR "quern needs ${header} to build. To get it: ${remedy}")
    endif()
endforeach()

add_library(quern_cuda_headers INTERFACE)
target_include_directories(quern_cuda_headers SYSTEM INTERFACE ${QUERN_CUDA_INCLUDE} ${QUERN_NVRTC_INCLUDE})
add_library(quern_xxhash INTERFACE)
target_include_directories(quern_xxhash SYSTEM INTERFACE ${QUERN_XXHASH_INCLUDE})
