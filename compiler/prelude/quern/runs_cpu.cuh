// Rows of a few runs on a CPU. A run rises but for a few values astray, or falls; it is put in order by itself, and then runs are
// merged. All of this keeps equal values in their order.
#pragma once
#include "quern/exchange_cpu.cuh"
#include "quern/sort_taken_cpu.cuh"

namespace quern {

const int most_runs = QUERN_SORT_PAIRS ? 16 : 8;

// How many runs of so many values are quicker to merge than to sort, by vectors where there are no places.
template <class T> __device__ inline int worth_merging(long long length) {
    const bool is_long = length >= 4096;
#if QUERN_SORT_PAIRS
    return is_long ? most_runs : length >= 256 ? 4 : 1;
#else
    return is_long ? (sizeof(T) < 8 ? 4 : most_runs) : length >= 512 ? 1 : 0;
#endif
}

// The runs of a row, or of a part of it, and how many of its values astray lie before each of them.
struct Runs {
    int count; // 0: too many
    bool falls[most_runs];
    long long begin[most_runs + 1], astray[most_runs + 1];
    __device__ void be_one(long long first, long long end, bool falling) {
        count = 1;
        falls[0] = falling;
        begin[0] = first, begin[1] = end;
        astray[0] = astray[1] = 0;
    }
    __device__ bool rises(int run) const { return !falls[run] && astray[run] == astray[run + 1]; }
    __device__ bool all_rise() const {
        for (int run = 0; run < count; ++run)
            if (!rises(run)) return false;
        return true;
    }
};
// How many values astray there may be, of which lists have room.
__device__ inline long long most_astray(long long length) { return length / 64 + 4; }
// An entry is where the value stands, times two, and one more where values that equal it stand before it rather than behind it.
__device__ inline SortPlace astray_entry(long long place, bool behind) { return static_cast<SortPlace>(2 * place + (behind ? 1 : 0)); }
__device__ inline long long place_of(SortPlace entry) { return static_cast<long long>(entry / 2); }

// A list in a room of as many bytes as there are values, at least.
__device__ inline SortPlace* astray_room(void* room) { return reinterpret_cast<SortPlace*>(aligned(room)); }

// Are there neighbours in so much disorder that no more need be looked at?
template <class T> __device__ inline bool seems_disordered(const T* row, long long begin, long long end) {
    const int width = 32;
    const long long length = end - begin, windows = length < 2048 ? 2 : length < 8192 ? 4 : 8; // none in the middle
    if (length < 2 * width) return true;
    long long mixed = 0;
    for (long long w = 0; w < windows; ++w) {
        const T* const from = row + begin + (length - width - 1) * (w + 1) / (windows + 1);
        Falls<T> fall;
        unsigned int falling = 0;
        for (int l = 0; l < width; ++l) falling += fall(from[l], from[l + 1]) ? 1 : 0;
        mixed += falling < width / 2 ? falling : width - falling;
    }
    return mixed > windows * width / 8;
}

// The runs of [begin, end) of a row, and its values astray in the order of where they stand.
template <class T> __device__ __noinline__ __attribute__((minsize)) void find_runs(const T* row, long long begin, long long end, Runs& runs, SortPlace* astray) {
    const int few = 8, worth = 32; // values astray next to each other, values that fall
    const long long most = most_astray(end - begin);
    long long found = 0;
    const int worth_it = worth_merging<T>(end - begin);
    int count = 0;
    runs.count = 0;
    if (worth_it == 0 || seems_disordered(row, begin, end)) return;
    for (long long k = begin; k < end; ++count) {
        if (count == worth_it) return;
        runs.begin[count] = k;
        runs.astray[count] = found;
        const long long bottom = stretch<Way::never_rises>(row, k, end);
        runs.falls[count] = bottom - k >= worth && sorts_before(row[bottom - 1], row[k]);
        if (runs.falls[count]) {
            k = bottom;
            continue;
        }
        long long rises = k, top = k, greatest = 0; // where what stays rose last, its end, and what is astray since then
        ++k;
        while (k < end) {
            if (!sorts_before(row[k], row[top])) {
                rises = k;
                k = stretch<Way::rises>(row, k, end);
                top = k - 1;
                continue;
            }
            // What is astray is either what comes now, or what stood before it.
            long long next = stretch<Way::rises>(row, k, min(end, k + worth + 1)), last = top;
            if (!sorts_before(row[next - 1], row[top]))
                for (next = k + 1; sorts_before(row[next], row[top]);) ++next;
            while (last > rises && top - last < few && sorts_before(row[k], row[last])) --last;
            const long long before = top - last, since = k - 1 - top;
            if (before <= next - k && !sorts_before(row[k], row[last]) && (since == 0 || sorts_before(row[greatest], row[last]))) {
                if (found + before > most) return;
                for (long long entry = found - 1; entry >= found - since; --entry) astray[entry + before] = astray[entry];
                for (long long place = last + 1; place <= top; ++place) astray[found - since + place - last - 1] = astray_entry(place, false);
                found += before;
                top = last;
            } else if (next - k < worth && stretch<Way::never_rises>(row, k, end) - k < worth) {
                if (found + next - k > most) return;
                if (since == 0 || sorts_before(row[greatest], row[next - 1])) greatest = next - 1;
                for (; k < next; ++k) astray[found++] = astray_entry(k, true);
            } else {
                break;
            }
        }
    }
    runs.begin[count] = end;
    runs.astray[count] = found;
    runs.count = count;
}

// Values that stand near where they belong: by insertion, and what falls there turned around. False where that takes more than
// `moves`. Places go along where there is room for them.
template <class T>
__device__ __noinline__ bool settle(const SortSource<T>& from, long long begin, long long end, T* values, SortPlace* places, long long moves) {
    const int worth = 3; // what falls
    const T* const row = from.values;
    const auto put = [&](long long at, const T& value, long long k) {
        values[at] = value;
        if (places) places[at] = from.places ? from.places[k] : static_cast<SortPlace>(k);
    };
    put(begin, row[begin], begin);
    bool appended = true; // the value before, and it stays where it stood
    for (long long k = begin + 1; k < end; ++k) {
        const T value = row[k];
        long long at = k;
        if (sorts_before(value, values[k - 1])) {
            if (k + 1 < end && sorts_before(row[k + 1], value)) {
                const long long top = k - 1;
                long long bottom = k + 2;
                while (bottom < end && sorts_before(row[bottom], row[bottom - 1])) ++bottom;
                if (bottom - top >= worth && appended && (top == begin || !sorts_before(row[bottom - 1], values[top - 1]))) {
                    QUERN_PLAIN_LOOP
                    for (long long l = top; l < bottom; ++l) put(l, row[bottom - 1 - (l - top)], bottom - 1 - (l - top));
                    k = bottom - 1;
                    appended = false;
                    continue;
                }
            }
            QUERN_PLAIN_LOOP
            for (; at > begin && sorts_before(value, values[at - 1]); --at) {
                values[at] = values[at - 1];
                if (places) places[at] = places[at - 1];
            }
            moves -= k - at;
            if (moves < 0) return false;
        }
        put(at, value, k);
        appended = at == k;
    }
    return true;
}
// Do some values here and there stand near where they belong, and in order to each other?
template <class T> __device__ inline bool seems_near(const T* row, long long begin, long long end) {
    const int width = 64, windows = 8, most = QUERN_SORT_PAIRS ? 2 * width : sizeof(T) < 8 ? width / 8 : width * 5 / 8;
    const long long length = end - begin;
    if (length < 4096) return false;
    T last;
    for (int w = 0; w < windows; ++w) {
        const long long first = begin + (length - width) * (w + 1) / (windows + 1);
        T settled[width];
        if (!settle<T>({row + first, nullptr}, 0, width, settled, nullptr, most)) return false;
        if (w > 0 && sorts_before(settled[0], last)) return false;
        last = settled[width - 1];
    }
    return true;
}
template <class T>
__device__ inline bool settle_near(const SortSource<T>& from, long long begin, long long end, T* values, SortPlace* places) {
    return seems_near(from.values, begin, end) && settle(from, begin, end, values, places, (QUERN_SORT_PAIRS ? 3 : 1) * (end - begin));
}

// Entries in the order of their values; `spare` is as long.
template <class T> __device__ __noinline__ __attribute__((minsize)) void sort_astray(const T* row, SortPlace* entries, SortPlace* spare, long long count) {
    SortPlace *from = entries, *to = spare;
    for (long long width = 1; width < count; width *= 2) {
        for (long long first = 0; first < count; first += 2 * width) {
            const long long second = first + width < count ? first + width : count, end = second + width < count ? second + width : count;
            long long a = first, b = second;
            for (long long k = first; k < end; ++k) {
                const bool takes = a == second || (b < end && sorts_before(row[place_of(from[b])], row[place_of(from[a])]));
                to[k] = takes ? from[b++] : from[a++];
            }
        }
        SortPlace* const other = from;
        from = to;
        to = other;
    }
    if (from != entries)
        for (long long k = 0; k < count; ++k) entries[k] = from[k];
}

// A run [begin, end) to the same places of a target. What is astray of it comes in the order of where it stands, and in its own.
template <class T>
__device__ __noinline__ __attribute__((minsize)) void mend_run(const SortSource<T>& from, long long begin, long long end, const SortPlace* holes, const SortPlace* sorted,
                                long long count, const SortTarget<T>& to) {
    const T* const row = from.values;
    long long at = begin, k = begin, hole = 0, stop = begin; // [k, stop) has no hole
    const auto copy = [&](long long until) {
        to.take(at, until - k, from, Onward{k});
        at += until - k;
        k = until;
    };
    const auto go_on = [&] { // whether something is left
        while (k == stop && k < end) {
            if (hole > 0) ++k;
            stop = hole < count ? place_of(holes[hole]) : end;
            ++hole;
        }
        return k < end;
    };
    for (long long s = 0; s < count; ++s) {
        const long long place = place_of(sorted[s]);
        const T value = row[place];
        const bool behind = sorted[s] % 2 != 0;
        const auto first = [&](long long other) { return behind ? !sorts_before(value, row[other]) : sorts_before(row[other], value); };
        while (go_on() && first(stop - 1)) copy(stop);
        if (k < stop) {
            long long low = k, step = 1; // all before `low` go first
            while (low + step < stop && first(low + step - 1)) low += step, step *= 2;
            const decltype(first) goes_first[1] = {first};
            bisect([](long long other) { return other; }, low, min(low + step, stop), goes_first, &low);
            copy(low);
        }
        to.take(at++, 1, from, Onward{place});
    }
    while (go_on()) copy(stop);
}

// Likewise of one that falls. Equal values stay in their order.
template <class T>
__device__ __noinline__ __attribute__((minsize)) void turn_run(const SortSource<T>& from, long long begin, long long end, const SortTarget<T>& to) {
    to.take(begin, end - begin, from, Backward{end - 1});
    for (long long k = begin; (k = stretch<Way::falls>(from.values, k, end)) < end;) { // a value that equals the one before it
        const long long first = k - 1;
        while (k < end && !sorts_before(from.values[k], from.values[first])) ++k;
        to.take(begin + end - k, k - first, from, Onward{first});
        if (k == end) break;
        --k;
    }
}

// Where two runs next to each other are, by their places in the row, and how far they are on the way to one.
template <class T> struct MergeSource {
    const T *first, *second;
    const SortPlace* places;
};
struct Merge {
    long long first, first_end, second, second_end, at;
    __device__ long long values() const { return first_end - first + (second_end - second); }
    __device__ long long left() const { return first_end - first < second_end - second ? first_end - first : second_end - second; }
};
const int merge_steps = 32;

// Whether a value of the second run comes first.
template <class T> struct ByOrder {
    __device__ bool operator()(const T& second, const T& first) const { return sorts_before(second, first); }
};
template <class T> struct ByValue { // without NaN
    __device__ bool operator()(const T& second, const T& first) const { return second < first; }
};
template <class T> struct WithoutNan { typedef ByOrder<T> Order; };
template <> struct WithoutNan<float> { typedef ByValue<float> Order; };
template <> struct WithoutNan<double> { typedef ByValue<double> Order; };

// As many steps, for each of which neither may come to its end, of some at once: a step waits for the one before.
template <class T, int lanes, class Order>
__device__ inline void merge_together(const MergeSource<T>& from, Merge* merges, int steps, const SortTarget<T>& to, const Order& comes_first) {
    T unwanted[lanes][merge_steps], *out[lanes];
    long long taken[lanes][merge_steps], first[lanes], second[lanes];
    const T *const firsts = from.first, *const seconds = from.second; // what a loop reads is its own
    for (int l = 0; l < lanes; ++l) {
        first[l] = merges[l].first;
        second[l] = merges[l].second;
        out[l] = to.values ? to.values + merges[l].at : unwanted[l];
    }
    QUERN_PLAIN_LOOP
    for (int k = 0; k < steps; ++k)
#pragma unroll
        for (int l = 0; l < lanes; ++l) {
            const T one = firsts[first[l]], other = seconds[second[l]];
            const bool takes = comes_first(other, one);
            out[l][k] = takes ? other : one;
#if QUERN_SORT_PAIRS
            taken[l][k] = takes ? second[l] : first[l];
#endif
            second[l] += takes;
            first[l] += !takes;
        }
    for (int l = 0; l < lanes; ++l) {
        to.take_places(merges[l].at, steps, from.places, taken[l]);
        merges[l] = {first[l], merges[l].first_end, second[l], merges[l].second_end, merges[l].at + steps};
    }
}
// How many of so many come before it is another's turn: none, if not at least some next to each other, or all there are.
template <class ComesFirst> __device__ inline long long piece(long long left, const ComesFirst& comes_first) {
    long long length = min(static_cast<long long>(merge_steps), left), more = length;
    if (!comes_first(length - 1)) return 0;
    while (length < left && (more = min(4 * length, left), comes_first(more - 1))) length = more;
    return length;
}
// Goes on while what comes next are many of one run, and to the end once there is one left; false then.
template <class T> __device__ __noinline__ __attribute__((minsize)) bool merge_pieces(const MergeSource<T>& from, Merge& merge, const SortTarget<T>& to) {
    const auto take = [&](long long firsts, long long seconds) {
        to.take(merge.at, firsts, {from.first, from.places}, Onward{merge.first});
        to.take(merge.at + firsts, seconds, {from.second, from.places}, Onward{merge.second});
        merge.at += firsts + seconds;
        merge.first += firsts;
        merge.second += seconds;
    };
    while (merge.left() > 0) {
        const T *const one = from.first + merge.first, *const other = from.second + merge.second;
        if (const long long firsts = piece(merge.first_end - merge.first, [&](long long k) { return !sorts_before(*other, one[k]); }))
            take(firsts, 0);
        else if (const long long seconds = piece(merge.second_end - merge.second, [&](long long k) { return sorts_before(other[k], *one); }))
            take(0, seconds);
        else
            return true;
    }
    take(merge.first_end - merge.first, merge.second_end - merge.second);
    return false;
}
// Some merges at once, as many as there are registers for: one that has come to its end takes over a half of the longest other one.
template <class T> struct Merges {
    static const int lanes = 4, few = 4, worth_it = 256;
    const MergeSource<T>& from;
    const SortTarget<T>& to;
    Merge merges[lanes];

    __device__ __noinline__ __attribute__((minsize)) void finish(Merge& merge) const {
        while (merge_pieces(from, merge, to))
            merge_together<T, 1>(from, &merge, static_cast<int>(min(merge.left(), static_cast<long long>(merge_steps))), to, ByOrder<T>());
    }
    __device__ inline bool take_over(Merge& idle) {
        Merge* longest = merges;
        for (Merge& merge : merges)
            if (merge.values() > longest->values()) longest = &merge;
        if (longest->values() < worth_it) return false;
        const long long steps = longest->values() / 2,
                        seconds = passed(from.second + longest->second, longest->second_end - longest->second, from.first + longest->first,
                                         longest->first_end - longest->first, steps);
        idle = {longest->first + steps - seconds, longest->first_end, longest->second + seconds, longest->second_end, longest->at + steps};
        longest->first_end = idle.first;
        longest->second_end = idle.second;
        return true;
    }
    // How many steps all of them may take; 0 once there are fewer of them.
    __device__ inline int next_steps() {
        for (bool ready = false; !ready;) {
            ready = true;
            for (Merge& merge : merges)
                while (!merge_pieces(from, merge, to) || merge.left() < few) {
                    finish(merge);
                    if (!take_over(merge)) return 0;
                    ready = false; // the other one has less left
                }
        }
        long long steps = merge_steps;
        for (const Merge& merge : merges) steps = min(steps, merge.left());
        return static_cast<int>(steps);
    }
    // One after the other where there are NaN, of which the quicker order knows nothing.
    __device__ inline void run(bool has_nan) {
        typename WithoutNan<T>::Order order;
        for (int steps; !has_nan && (steps = next_steps()) > 0;)
            merge_together<T, lanes>(from, merges, steps, to, order);
        for (Merge& merge : merges) finish(merge);
    }
};
// What goes to [begin, end) of a target when runs [first, second) and [second, last) are merged to [first, last).
template <class T>
__device__ __noinline__ void merge_runs(const MergeSource<T>& from, long long first, long long second, long long last, long long begin, long long end,
                                        const SortTarget<T>& to) {
    const int lanes = Merges<T>::lanes;
    Merges<T> own = {from, to};
    long long at = begin, taken = 0; // of the second run
    for (int l = -1; l < lanes; ++l) {
        const long long next = begin + (end - begin) * (l + 1) / lanes,
                        seconds = passed(from.second + second, last - second, from.first + first, second - first, next - first);
        if (l >= 0) own.merges[l] = {at - taken, next - seconds, second + taken, second + seconds, at};
        at = next;
        taken = seconds;
    }
    own.run(is_nan(from.first[second - 1]));
}

// Room for what passes from one merge to the next.
template <class T> struct SortRooms {
    T *values, *spare;
    SortPlace *here, *there; // null without places
    __device__ SortRooms turned() const { return {spare, values, there, here}; }
    __device__ SortTarget<T> target() const { return {values, here, nullptr, nullptr}; }
};
__device__ inline int merge_levels(long long runs) {
    int levels = 0;
    while (1ll << levels < runs) ++levels;
    return levels;
}

// Puts runs in order, by way of rooms that lie like the row. The target may lie where the first room does, as may `astray`, which
// may also lie in the other one, from `begin` on.
template <class T>
__device__ __noinline__ __attribute__((minsize)) void sort_runs(const SortSource<T>& in, const Runs& runs, const SortPlace* astray, const SortRooms<T>& rooms, const SortTarget<T>& to) {
    const long long begin = runs.begin[0], end = runs.begin[runs.count], strays = runs.astray[runs.count];
    const int levels = merge_levels(runs.count);
    SortRooms<T> own = levels % 2 == 0 ? rooms : rooms.turned();
    const bool mends = levels == 0 || !runs.all_rise();
    if (mends) {
        SortPlace *const holes = astray_room(own.spare + begin), *const sorted = holes + strays;
        for (long long k = 0; k < strays; ++k) holes[k] = astray[k];
        for (long long k = 0; k < strays; ++k) sorted[k] = holes[k];
        const SortTarget<T> mended = levels == 0 ? to : own.target();
        for (int r = 0; r < runs.count; ++r) {
            const long long first = runs.begin[r], last = runs.begin[r + 1], before = runs.astray[r], count = runs.astray[r + 1] - before;
            if (runs.falls[r])
                turn_run(in, first, last, mended);
            else if (levels > 0 && count == 0)
                mended.take_places(first, last - first, in.places, Onward{first});
            else {
                sort_astray(in.values, sorted + before, sorted + strays, count);
                mend_run(in, first, last, holes + before, sorted + before, count, mended);
            }
        }
    }
    for (int level = 0; level < levels; ++level) {
        const int width = 1 << level;
        const auto values = [&](int run) { return level == 0 && (run == runs.count || runs.rises(run)) ? in.values : own.values; };
        const SortPlace* const places = level == 0 && !mends ? in.places : own.here;
        const SortRooms<T> next = own.turned();
        for (int r = 0; r < runs.count; r += 2 * width) {
            const int other = min(r + width, runs.count);
            merge_runs<T>({values(r), values(other), places}, runs.begin[r], runs.begin[other], runs.begin[min(r + 2 * width, runs.count)],
                          runs.begin[r], runs.begin[min(r + 2 * width, runs.count)], level + 1 == levels ? to : next.target());
        }
        own = next;
    }
}

} // namespace quern
