// Raw arrays: the whole array inside a kernel, as CuPy's users know it: x[k], x[{i, j}], x.size(), x.shape(), x.strides().
#pragma once

template <class T, int _ndim, bool _c_contiguous = false, bool _use_32bit_indexing = false> class CArray {
  public:
    static const int ndim = _ndim;
    static const bool c_contiguous = _c_contiguous;
    typedef ptrdiff_t index_t;

    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t* shape() const { return shape_; }
    __device__ const ptrdiff_t* strides() const { return strides_; } // bytes
    __device__ T* begin_ptr() const { return data_; }

    // Flat, in C order, whatever the strides are.
    __device__ T& operator[](ptrdiff_t i) const {
        if (c_contiguous) return data_[i];
        if (_use_32bit_indexing) return *at(offset_of(static_cast<int>(i)));
        return *at(offset_of(i));
    }
    // By one index for each axis.
    template <class I> __device__ T& operator[](const I (&idx)[_ndim]) const { return (*this)[&idx[0]]; }
    template <class I> __device__ T& operator[](const I* idx) const {
        ptrdiff_t offset = 0;
        for (int d = 0; d < ndim; ++d) offset += static_cast<ptrdiff_t>(idx[d]) * strides_[d];
        return *at(offset);
    }

    T* data_;
    ptrdiff_t size_;
    ptrdiff_t shape_[_ndim];
    ptrdiff_t strides_[_ndim];

  private:
    __device__ T* at(ptrdiff_t offset) const {
        return reinterpret_cast<T*>(const_cast<char*>(reinterpret_cast<const char*>(data_)) + offset);
    }
    template <class I> __device__ ptrdiff_t offset_of(I i) const {
        ptrdiff_t offset = 0;
        for (int d = ndim; --d > 0;) {
            const I extent = static_cast<I>(shape_[d]), rest = i / extent;
            offset += static_cast<ptrdiff_t>(i - rest * extent) * strides_[d];
            i = rest;
        }
        return offset + static_cast<ptrdiff_t>(i) * strides_[0];
    }
};

template <class T, bool _c_contiguous, bool _use_32bit_indexing> class CArray<T, 0, _c_contiguous, _use_32bit_indexing> {
  public:
    static const int ndim = 0;
    static const bool c_contiguous = true;
    typedef ptrdiff_t index_t;
    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t* shape() const { return 0; }
    __device__ const ptrdiff_t* strides() const { return 0; }
    __device__ T* begin_ptr() const { return data_; }
    __device__ T& operator[](ptrdiff_t) const { return *data_; }
    T* data_;
    ptrdiff_t size_;
};
