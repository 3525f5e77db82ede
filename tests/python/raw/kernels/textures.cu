// Every way to read a texture and to use a surface, one point a thread.
__device__ int me() { return blockDim.x * blockIdx.x + threadIdx.x; }

template <class T> __global__ void fetch(cudaTextureObject_t texture, const int* x, T* out, int n) {
    if (me() < n) out[me()] = tex1Dfetch<T>(texture, x[me()]);
}
template <class T> __global__ void sample_1d(cudaTextureObject_t texture, const float* x, T* out, int n) {
    if (me() < n) out[me()] = tex1D<T>(texture, x[me()]);
}
template <class T> __global__ void sample_2d(cudaTextureObject_t texture, const float* at, T* out, int n) {
    if (me() < n) out[me()] = tex2D<T>(texture, at[2 * me()], at[2 * me() + 1]);
}
template <class T> __global__ void sample_3d(cudaTextureObject_t texture, const float* at, T* out, int n) {
    const float* x = at + 3 * me();
    if (me() < n) out[me()] = tex3D<T>(texture, x[0], x[1], x[2]);
}
extern "C" __global__ void layers_1d(cudaTextureObject_t texture, const float* x, const int* layer, float* out, int n) {
    if (me() < n) out[me()] = tex1DLayered<float>(texture, x[me()], layer[me()]);
}
extern "C" __global__ void layers_2d(cudaTextureObject_t texture, const float* at, const int* layer, float* out, int n) {
    if (me() < n) out[me()] = tex2DLayered<float>(texture, at[2 * me()], at[2 * me() + 1], layer[me()]);
}

// The same point by each form, side by side in a row.
extern "C" __global__ void forms_1d(cudaTextureObject_t texture, const float* x, float* out, int n) {
    if (me() >= n) return;
    float* row = out + 4 * me();
    row[0] = tex1D<float>(texture, x[me()]);
    tex1D(&row[1], texture, x[me()]);
    row[2] = tex1DLod<float>(texture, x[me()], 0.0f);
    row[3] = tex1DGrad<float>(texture, x[me()], 0.0f, 0.0f);
}
extern "C" __global__ void forms_2d(cudaTextureObject_t texture, const float* at, float* out, int n) {
    if (me() >= n) return;
    const float x = at[2 * me()], y = at[2 * me() + 1];
    const float2 flat = make_float2(0, 0);
    float* row = out + 5 * me();
    row[0] = tex2D<float>(texture, x, y);
    tex2D(&row[1], texture, x, y);
    row[2] = tex2DLod<float>(texture, x, y, 0.0f);
    tex2DLod(&row[3], texture, x, y, 0.0f);
    row[4] = tex2DGrad<float>(texture, x, y, flat, flat);
}
extern "C" __global__ void forms_3d(cudaTextureObject_t texture, const float* at, float* out, int n) {
    if (me() >= n) return;
    const float *p = at + 3 * me(), x = p[0], y = p[1], z = p[2];
    const float4 flat = make_float4(0, 0, 0, 0);
    float* row = out + 4 * me();
    row[0] = tex3D<float>(texture, x, y, z);
    tex3D(&row[1], texture, x, y, z);
    row[2] = tex3DLod<float>(texture, x, y, z, 0.0f);
    row[3] = tex3DGrad<float>(texture, x, y, z, flat, flat);
}

// A surface's elements to memory and back; places count elements.
template <class T, int Mode>
__global__ void read_1d(cudaSurfaceObject_t surface, const int* x, T* out, int n) {
    if (me() < n) out[me()] = surf1Dread<T>(surface, x[me()] * (int)sizeof(T), (cudaSurfaceBoundaryMode)Mode);
}
template <class T, int Mode>
__global__ void read_2d(cudaSurfaceObject_t surface, const int* at, T* out, int n) {
    const int *p = at + 2 * me();
    if (me() < n) surf2Dread(&out[me()], surface, p[0] * (int)sizeof(T), p[1], (cudaSurfaceBoundaryMode)Mode);
}
template <class T, int Mode>
__global__ void read_3d(cudaSurfaceObject_t surface, const int* at, T* out, int n) {
    const int *p = at + 3 * me();
    if (me() < n) out[me()] = surf3Dread<T>(surface, p[0] * (int)sizeof(T), p[1], p[2], (cudaSurfaceBoundaryMode)Mode);
}
template <class T> __global__ void write_1d(cudaSurfaceObject_t surface, const T* in, int w) {
    if (me() < w) surf1Dwrite(in[me()], surface, me() * (int)sizeof(T));
}
// A row and a plane too many: what lies outside is passed over.
template <class T> __global__ void write_2d(cudaSurfaceObject_t surface, const T* in, int w, int h) {
    for (int i = me(); i < w * (h + 1); i += blockDim.x * gridDim.x)
        surf2Dwrite(in[i % (w * h)], surface, i % w * (int)sizeof(T), i / w, cudaBoundaryModeZero);
}
template <class T> __global__ void write_3d(cudaSurfaceObject_t surface, const T* in, int w, int h, int d) {
    for (int i = me(); i < w * h * (d + 1); i += blockDim.x * gridDim.x)
        surf3Dwrite(in[i % (w * h * d)], surface, i % w * (int)sizeof(T), i / w % h, i / (w * h), cudaBoundaryModeZero);
}
extern "C" __global__ void double_layers(cudaSurfaceObject_t surface, int w, int h, int layers) {
    for (int i = me(); i < w * h * layers; i += blockDim.x * gridDim.x) {
        const int x = i % w * 4, y = i / w % h, layer = i / (w * h);
        surf2DLayeredwrite(2 * surf2DLayeredread<float>(surface, x, y, layer), surface, x, y, layer);
    }
}
extern "C" __global__ void trap(cudaSurfaceObject_t surface, int x) { surf1Dwrite(1.0f, surface, x * 4); }

// Blocks of 16 x 16: means of 3 x 3 texels by way of shared memory, the edge repeated.
extern "C" __global__ void blur(cudaTextureObject_t texture, cudaSurfaceObject_t surface, int w, int h) {
    __shared__ float tile[18][18];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256)
        tile[i / 18][i % 18] = tex2D<float>(texture, blockIdx.x * 16 + i % 18 - 0.5f, blockIdx.y * 16 + i / 18 - 0.5f);
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 9; ++i) sum += tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
    if (x < w && y < h) surf2Dwrite(sum / 9, surface, x * 4, y);
}
