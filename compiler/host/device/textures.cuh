// Textures and surfaces. A handle means something to the host driver alone, which fetches and finds places for us: a
// kernel with many fetches compiles fast, and a handle that is none ends the kernel instead of the process.
#pragma once
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
enum cudaSurfaceFormatMode { cudaFormatModeForced = 0, cudaFormatModeAuto = 1 };
enum cudaTextureAddressMode { cudaAddressModeWrap = 0, cudaAddressModeClamp = 1, cudaAddressModeMirror = 2, cudaAddressModeBorder = 3 };
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

// Hooks of the host driver (runtime/host/textures.h). Four channels come as bits: floats of formats that are read as
// floats, else integers, widened. `axes` counts directions; a layer is asked for where it is not -1.
typedef unsigned int __quern_channels __attribute__((vector_size(16)));
struct __quern_row { const void* texels; unsigned width; };
extern "C" {
// What tex1Dfetch reads as it stands; null unless the texels are of this type, CUarray_format * 8 + channels. The same
// for a handle as long as a kernel runs, so it is asked once for many fetches.
__device__ __host__ __attribute__((nothrow, const)) const __quern_row* __quern_texture_row(cudaTextureObject_t, unsigned type);
__device__ __host__ __attribute__((nothrow, pure)) __quern_channels __quern_texture_fetch(cudaTextureObject_t, int x);
__device__ __host__ __attribute__((nothrow, pure)) __quern_channels __quern_texture_sample(
    cudaTextureObject_t, unsigned axes, float x, float y, float z, int layer);
__device__ __host__ __attribute__((nothrow)) char* __quern_surface_place( // null: outside, and to be passed over
    cudaSurfaceObject_t, unsigned bytes, unsigned axes, int x, int y, int z, int layer, int mode);
}

// What a program may ask of a texture: overloads, since explicit specialisations are read from the precompiled headers by
// every program, whether it asks or not.
__quern_fn constexpr unsigned __quern_texel_type(...) { return 0; }
#define __quern_texel_of(T, TYPE, ...)                                                                                 \
    __quern_fn constexpr unsigned __quern_texel_type(const T*) { return TYPE; }                                        \
    __quern_fn void __quern_take(T* to, __quern_channels v) { *to = {__VA_ARGS__}; }
#define __quern_texels(C, V, FORMAT)                                                                                   \
    __quern_texel_of(C, FORMAT * 8 + 1, (C)v[0]) __quern_texel_of(V##1, FORMAT * 8 + 1, (C)v[0])                       \
    __quern_texel_of(V##2, FORMAT * 8 + 2, (C)v[0], (C)v[1])                                                           \
    __quern_texel_of(V##4, FORMAT * 8 + 4, (C)v[0], (C)v[1], (C)v[2], (C)v[3])
__quern_texels(unsigned char, uchar, 1) __quern_texels(unsigned short, ushort, 2) __quern_texels(unsigned int, uint, 3)
__quern_texels(signed char, char, 8) __quern_texels(short, short, 9) __quern_texels(int, int, 10)
__quern_texel_of(char, 8 * 8 + 1, (char)v[0])
#define __quern_real(I) __builtin_bit_cast(float, (unsigned)v[I])
__quern_texel_of(float, 32 * 8 + 1, __quern_real(0)) __quern_texel_of(float1, 32 * 8 + 1, __quern_real(0))
__quern_texel_of(float2, 32 * 8 + 2, __quern_real(0), __quern_real(1))
__quern_texel_of(float4, 32 * 8 + 4, __quern_real(0), __quern_real(1), __quern_real(2), __quern_real(3))
#undef __quern_real
#undef __quern_texels
#undef __quern_texel_of
template <class T> __quern_fn T __quern_texel(__quern_channels v) {
    T all;
    __quern_take(&all, v);
    return all;
}
template <class T> __quern_fn T __quern_fetch_texel(cudaTextureObject_t object, int x) {
    const __quern_row* row = __quern_texture_row(object, __quern_texel_type((const T*)0));
    if (!row) return __quern_texel<T>(__quern_texture_fetch(object, x));
    return (unsigned)x < row->width ? ((const T*)row->texels)[x] : T{};
}

// Each by its result, tex2D<float>(object, x, y), and by a pointer to it, tex2D(&value, object, x, y).
#define __quern_list(...) __VA_ARGS__
#define __quern_of_texels                                                                                             \
    __attribute__((diagnose_if(!__quern_texel_type((const T*)0), "a texture is read as 1, 2 or 4 channels of 8, 16 or 32 bits: float, uchar4, short2", "error")))
#define __quern_fetch(N, PARAMS, NAMES, TEXEL)                                                                      \
    template <class T> __quern_of_texels __quern_fn T N(cudaTextureObject_t object, PARAMS) { return TEXEL; } \
    template <class T> __quern_of_texels __quern_fn void N(T* to, cudaTextureObject_t object, PARAMS) { *to = N<T>(object, NAMES); }
__quern_fetch(tex1Dfetch, int x, x, __quern_fetch_texel<T>(object, x))
__quern_fetch(tex1D, float x, x, __quern_texel<T>(__quern_texture_sample(object, 1, x, 0, 0, -1)))
__quern_fetch(tex2D, __quern_list(float x, float y), __quern_list(x, y), __quern_texel<T>(__quern_texture_sample(object, 2, x, y, 0, -1)))
__quern_fetch(tex3D, __quern_list(float x, float y, float z), __quern_list(x, y, z), __quern_texel<T>(__quern_texture_sample(object, 3, x, y, z, -1)))
__quern_fetch(tex1DLayered, __quern_list(float x, int layer), __quern_list(x, layer), __quern_texel<T>(__quern_texture_sample(object, 1, x, 0, 0, layer < 0 ? 0 : layer)))
__quern_fetch(tex2DLayered, __quern_list(float x, float y, int layer), __quern_list(x, y, layer), __quern_texel<T>(__quern_texture_sample(object, 2, x, y, 0, layer < 0 ? 0 : layer)))
// Nothing here has mipmaps: every level of detail is the first.
__quern_fetch(tex1DLod, __quern_list(float x, float level), __quern_list(x, level), __quern_texel<T>(__quern_texture_sample(object, 1, x, 0, 0, -1)))
__quern_fetch(tex2DLod, __quern_list(float x, float y, float level), __quern_list(x, y, level), __quern_texel<T>(__quern_texture_sample(object, 2, x, y, 0, -1)))
__quern_fetch(tex3DLod, __quern_list(float x, float y, float z, float level), __quern_list(x, y, z, level), __quern_texel<T>(__quern_texture_sample(object, 3, x, y, z, -1)))
__quern_fetch(tex1DGrad, __quern_list(float x, float dx, float dy), __quern_list(x, dx, dy), __quern_texel<T>(__quern_texture_sample(object, 1, x, 0, 0, -1)))
__quern_fetch(tex2DGrad, __quern_list(float x, float y, float2 dx, float2 dy), __quern_list(x, y, dx, dy), __quern_texel<T>(__quern_texture_sample(object, 2, x, y, 0, -1)))
__quern_fetch(tex3DGrad, __quern_list(float x, float y, float z, float4 dx, float4 dy), __quern_list(x, y, z, dx, dy), __quern_texel<T>(__quern_texture_sample(object, 3, x, y, z, -1)))
#undef __quern_fetch
#undef __quern_of_texels

// Surfaces count x in bytes.
#define __quern_surface(N, PARAMS, NAMES, AXES, X, Y, Z, LAYER)                                                        \
    template <class T> __quern_fn T N##read(cudaSurfaceObject_t object, PARAMS, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        T value;                                                                                                       \
        const char* place = __quern_surface_place(object, sizeof(T), AXES, X, Y, Z, LAYER, mode);                      \
        if (place) __builtin_memcpy(&value, place, sizeof(T));                                                         \
        else __builtin_memset(&value, 0, sizeof(T));                                                                   \
        return value;                                                                                                  \
    }                                                                                                                  \
    template <class T> __quern_fn void N##read(T* to, cudaSurfaceObject_t object, PARAMS, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        *to = N##read<T>(object, NAMES, mode);                                                                         \
    }                                                                                                                  \
    template <class T> __quern_fn void N##write(T value, cudaSurfaceObject_t object, PARAMS, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        if (char* place = __quern_surface_place(object, sizeof(T), AXES, X, Y, Z, LAYER, mode)) __builtin_memcpy(place, &value, sizeof(T)); \
    }
__quern_surface(surf1D, int x, x, 1, x, 0, 0, -1)
__quern_surface(surf2D, __quern_list(int x, int y), __quern_list(x, y), 2, x, y, 0, -1)
__quern_surface(surf3D, __quern_list(int x, int y, int z), __quern_list(x, y, z), 3, x, y, z, -1)
__quern_surface(surf1DLayered, __quern_list(int x, int layer), __quern_list(x, layer), 1, x, 0, 0, layer < 0 ? -2 : layer)
__quern_surface(surf2DLayered, __quern_list(int x, int y, int layer), __quern_list(x, y, layer), 2, x, y, 0, layer < 0 ? -2 : layer)
#undef __quern_surface
#undef __quern_list

#define __quern_missing(N, WHAT)                                                                                       \
    template <class T, class... A> __attribute__((device, unavailable("the CPU has no " WHAT))) T N(A...);             \
    template <class T, class... A> __attribute__((device, unavailable("the CPU has no " WHAT))) void N(T*, A...);
__quern_missing(tex2Dgather, "texture gathers: fetch the four texels with tex2D")
__quern_missing(texCubemap, "cubemaps") __quern_missing(texCubemapLayered, "cubemaps")
__quern_missing(texCubemapLod, "cubemaps") __quern_missing(texCubemapGrad, "cubemaps")
__quern_missing(surfCubemapread, "cubemaps") __quern_missing(surfCubemapLayeredread, "cubemaps")
#undef __quern_missing
template <class T, class... A> __attribute__((device, unavailable("the CPU has no cubemaps"))) void surfCubemapwrite(T, A...);
