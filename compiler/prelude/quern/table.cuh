// Which integers are there, as a table of bytes from the least of them to the greatest.
#pragma once
#include "quern/each.cuh"
#include "quern/ordered.cuh"

// The keys of the least and the greatest value.
extern "C" __global__ void quern_find_range(const QUERN_T0* values, const long long count, unsigned long long* range) {
    typedef quern::Ordered<QUERN_T0> Order;
    Order::Key least = Order::key(values[0]), most = least;
    for (long long k = 0; k < count; ++k) {
        const Order::Key key = Order::key(values[k]);
        least = key < least ? key : least;
        most = most < key ? key : most;
    }
    range[0] = least;
    range[1] = most;
}

// Behind the table's `size` bytes stands one for what lies outside.
extern "C" __global__ void quern_make_table(const QUERN_T0* values, const long long count, const long long least, unsigned char* table,
                                            const long long size) {
    typedef quern::Ordered<QUERN_T0> Order;
    for (long long k = 0; k <= size; ++k) table[k] = 0;
    for (long long k = 0; k < count; ++k) table[static_cast<Order::Key>(Order::key(values[k]) - static_cast<Order::Key>(least))] = 1;
}
extern "C" __global__ void quern_look_up(const QUERN_T0* wanted, const long long count, const long long least, const unsigned char* table,
                                         const long long size, bool* there, const long long invert) {
    typedef quern::Ordered<QUERN_T0> Order;
    const unsigned char other = static_cast<unsigned char>(invert != 0);
    const unsigned long long end = static_cast<unsigned long long>(size);
    QUERN_EACH(k, count) {
        const unsigned long long at = static_cast<Order::Key>(Order::key(wanted[k]) - static_cast<Order::Key>(least));
        there[k] = (table[at < end ? at : end] ^ other) != 0;
    }
}
