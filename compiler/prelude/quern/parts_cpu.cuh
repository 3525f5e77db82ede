// Parts of a row that blocks of one thread share: how each stands, and, where all are made of few runs, their merges.
#pragma once
#include "quern/cells_cpu.cuh"
#include "quern/runs_cpu.cuh"
// Values alone that are sorted by digits, which are short, are as quick without.
#define QUERN_MERGES_PARTS (QUERN_SORT_ROAD == 3 || QUERN_SORT_PAIRS)

namespace quern {

// What is seen of a part first.
template <class T> struct Look {
    typename SortKey<T>::Key differing; // where keys differ from the row's first one, for those that go by digits
    int standing;
    bool settled; // in the first room
    Runs runs;
    __device__ bool rises() const { return !settled && runs.count == 1 && runs.rises(0); }
};
static_assert(sizeof(Look<QUERN_T0>) <= 512, "what the launch has room for");
// How all parts of a row stand.
template <class T> __device__ inline int standing(const Look<T>* parts, long long splits) {
    int found = parts[0].standing;
    for (long long part = 1; part < splits; ++part) found = parts[part].standing ? found : 0;
    return found;
}
struct RowLook {
    int standing;
    bool in_runs, all_rise = true; // `in_runs`: parts are sorted, and merged
    template <class T>
    __device__ RowLook(const Look<T>* parts, long long splits) : standing(quern::standing(parts, splits)), in_runs(standing == 0) {
        for (long long part = 0; part < splits; ++part) {
            in_runs &= parts[part].settled || parts[part].runs.count > 0;
            all_rise &= parts[part].rises();
        }
    }
};
__device__ inline SortPlace* astray_of(unsigned char* astray, const Part& part, long long length) {
    return astray_room(astray + part.row * length + part.begin);
}
// Rooms that lie like a row, such that after so many merges the first of them is a target.
template <class T> __device__ inline SortRooms<T> rooms_before(const SortRooms<T>& rows, long long at, long long merges) {
    const SortRooms<T> own = {rows.values + at, rows.spare + at, rows.here ? rows.here + at : nullptr, rows.there ? rows.there + at : nullptr};
    return merges % 2 == 0 ? own : own.turned();
}
template <class T>
__device__ inline SortTarget<T> target_of(const SortRooms<T>& rows, bool wanted, const long long* given, long long* result, long long at) {
    return {wanted ? rows.values + at : nullptr, nullptr, given ? given + at : nullptr, result ? result + at : nullptr};
}
template <class T>
__device__ inline void sort_look(const T* in, unsigned char* astray, Look<T>* looks, const SortRooms<T>& rooms, long long length, long long splits,
                                 long long chunk, long long levels) {
    const Part part(length, splits, chunk);
    const SortSource<T> from = {in + part.row * length, nullptr};
    Look<T>& look = looks[blockIdx.x];
    look.standing = standing(from.values, length, part.begin, part.end);
    look.settled = false;
    look.runs.count = 0;
#if QUERN_SORT_ROAD == 2
    const typename SortKey<T>::Key first = SortKey<T>::of(from.values[0]);
    typename SortKey<T>::Key differing = typename SortKey<T>::Key();
    for (long long k = part.begin; k < part.end; ++k) add_differing(differing, first, SortKey<T>::of(from.values[k]));
    look.differing = differing;
#endif
#if QUERN_MERGES_PARTS
    if (look.standing != 0) {
        look.runs.be_one(part.begin, part.end, look.standing < 0);
        return;
    }
    find_runs(from.values, part.begin, part.end, look.runs, astray_of(astray, part, length));
    const SortRooms<T> own = rooms_before(rooms, part.row * length, levels);
    if (look.runs.count == 0) look.settled = settle_near(from, part.begin, part.end, own.values, own.here);
#endif
}
#if QUERN_MERGES_PARTS
template <class T>
__device__ inline void sort_part(const T* in, unsigned char* astray, const Look<T>* looks, const SortRooms<T>& rooms, long long length,
                                 long long splits, long long chunk, long long levels) {
    const Part part(length, splits, chunk);
    const RowLook row(looks + part.row * splits, splits);
    const Look<T>& look = looks[blockIdx.x];
    if (!row.in_runs || row.all_rise || look.settled) return;
    const SortRooms<T> own = rooms_before(rooms, part.row * length, levels);
    const SortSource<T> from = {in + part.row * length, nullptr};
    if (look.rises())
        own.target().take_places(part.begin, part.end - part.begin, from.places, Onward{part.begin});
    else
        sort_runs(from, look.runs, astray_of(astray, part, length), own, own.target());
}
// Two parts next to each other, or what was made of parts, `level` times before.
template <class T>
__device__ inline void merge_parts(const T* in, const Look<T>* looks, const SortRooms<T>& rooms, const SortTarget<T>& to, long long length,
                                   long long splits, long long chunk, long long level, long long levels) {
    const Part part(length, splits, chunk);
    const Look<T>* const parts = looks + part.row * splits;
    const RowLook row(parts, splits);
    if (!row.in_runs) return;
    const long long width = 1ll << level, first = part.number / (2 * width) * (2 * width), second = min(first + width, splits),
                    last = min(first + 2 * width, splits);
    const SortRooms<T> own = rooms_before(rooms, part.row * length, levels - level);
    const auto values = [&](long long k) { return level == 0 && (k == splits || parts[k].rises()) ? in + part.row * length : own.values; };
    merge_runs<T>({values(first), values(second), level == 0 && row.all_rise ? nullptr : own.here}, first * chunk, min(second * chunk, length),
                  min(last * chunk, length), part.begin, part.end, level + 1 == levels ? to : own.turned().target());
}
#endif

} // namespace quern

typedef quern::Look<QUERN_T0> QuernLook;
extern "C" __global__ void quern_sort_look(const QUERN_T0* in, unsigned char* astray, QuernLook* looks, QUERN_T0* values, QUERN_T0* spare,
                                           quern::SortPlace* here, quern::SortPlace* there, const long long length, const long long splits,
                                           const long long chunk, const long long levels) {
    quern::sort_look<QUERN_T0>(in, astray, looks, {values, spare, here, there}, length, splits, chunk, levels);
}
#if QUERN_MERGES_PARTS
extern "C" __global__ void quern_sort_part(const QUERN_T0* in, unsigned char* astray, const QuernLook* looks, QUERN_T0* values, QUERN_T0* spare,
                                           quern::SortPlace* here, quern::SortPlace* there, const long long length, const long long splits,
                                           const long long chunk, const long long levels) {
    quern::sort_part<QUERN_T0>(in, astray, looks, {values, spare, here, there}, length, splits, chunk, levels);
}
extern "C" __global__ void quern_sort_merge(const QUERN_T0* in, const QuernLook* looks, QUERN_T0* values, const long long wanted, QUERN_T0* spare,
                                            quern::SortPlace* here, quern::SortPlace* there, const long long* given, long long* result,
                                            const long long length, const long long splits, const long long chunk, const long long level,
                                            const long long levels) {
    const quern::SortRooms<QUERN_T0> rooms = {values, spare, here, there};
    quern::merge_parts(in, looks, rooms, quern::target_of(rooms, wanted != 0, given, result, blockIdx.x / splits * length), length, splits, chunk,
                       level, levels);
}
#endif
