/* A log-linear histogram of nanoseconds, 128 buckets per octave, so that a peer pays for its latency
 * statistics as manometer does. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define SUB_BITS 7

struct histogram {
    uint64_t total;
    uint64_t counts[(64 - SUB_BITS + 1) << SUB_BITS];
};

static inline unsigned histogram_index(uint64_t ns) {
    if (ns < (1u << SUB_BITS))
        return (unsigned)ns;
    unsigned shift = 63u - (unsigned)__builtin_clzll(ns) - SUB_BITS;
    return ((shift + 1) << SUB_BITS) + (unsigned)((ns >> shift) & ((1u << SUB_BITS) - 1));
}

static inline void histogram_record(struct histogram *h, uint64_t ns) {
    h->counts[histogram_index(ns)]++;
    h->total++;
}

static inline uint64_t histogram_quantile(const struct histogram *h, double q) {
    uint64_t wanted = (uint64_t)(q * (double)h->total), seen = 0;
    for (unsigned i = 0; i < sizeof h->counts / sizeof *h->counts; i++) {
        seen += h->counts[i];
        if (seen > wanted) {
            unsigned octave = i >> SUB_BITS;
            uint64_t low = i & ((1u << SUB_BITS) - 1);
            return octave == 0 ? low : ((1ull << SUB_BITS) + low) << (octave - 1);
        }
    }
    return 0;
}

#endif
