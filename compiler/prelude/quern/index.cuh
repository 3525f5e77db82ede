// Indices into an axis: checked, wrapped or clipped; and the word that remembers the first call that had a wrong one.
#pragma once

namespace quern {

// What one thread has seen. A wrong index stands for the first element, so that nothing outside is read or written.
struct IndexFault {
    unsigned long long wrong; // a bit for each index array
    bool skip;                // set by a wrong index: nothing is to be written there
#ifndef __QUERN_HOST__
    long long index;
    __device__ IndexFault() : wrong(0), skip(false), index(0) {}
#else
    __device__ IndexFault() : wrong(0), skip(false) {}
#endif
    // word[0]: the first call with a wrong index, or 0; word[1]: which arrays; word[2]: the index, where a thread keeps it.
    __device__ void report(long long word, long long call) const {
        if (wrong == 0 || word == 0) return;
        unsigned long long* const place = reinterpret_cast<unsigned long long*>(word);
        if (atomicCAS(place, 0ull, static_cast<unsigned long long>(call)) != 0ull) return;
        place[1] = wrong;
#ifndef __QUERN_HOST__
        place[2] = static_cast<unsigned long long>(index);
#endif
    }
};

template <class I> __device__ inline ptrdiff_t index_raise(I given, ptrdiff_t extent, int which, IndexFault& fault) {
    const ptrdiff_t index = static_cast<ptrdiff_t>(given), at = index < 0 ? index + extent : index;
    const bool wrong = static_cast<size_t>(at) >= static_cast<size_t>(extent);
    fault.skip |= wrong;
#ifdef __QUERN_HOST__
    fault.wrong |= static_cast<unsigned long long>(wrong) << which;
#else
    if (wrong) {
        fault.wrong |= 1ull << which;
        fault.index = index;
    }
#endif
    return wrong ? 0 : at;
}
template <class I> __device__ inline ptrdiff_t index_wrap(I given, ptrdiff_t extent, int, IndexFault&) {
    const ptrdiff_t index = static_cast<ptrdiff_t>(given);
    if (static_cast<size_t>(index) < static_cast<size_t>(extent)) return index;
    const ptrdiff_t rest = index % extent;
    return rest < 0 ? rest + extent : rest;
}
template <class I> __device__ inline ptrdiff_t index_clip(I given, ptrdiff_t extent, int, IndexFault&) {
    const ptrdiff_t index = static_cast<ptrdiff_t>(given);
    return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

} // namespace quern
