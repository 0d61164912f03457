package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const subBits = 7

// histogram is log-linear with 128 buckets per octave, so that this peer pays for its latency
// statistics as manometer does.
type histogram struct {
	counts [(64 - subBits + 1) << subBits]atomic.Int64
}

func (h *histogram) record(d time.Duration) {
	ns := uint64(d)
	index := ns
	if ns >= 1<<subBits {
		shift := uint64(bits.Len64(ns)) - 1 - subBits
		index = (shift+1)<<subBits + (ns>>shift)&(1<<subBits-1)
	}
	h.counts[index].Add(1)
}

func (h *histogram) reset() {
	for i := range h.counts {
		h.counts[i].Store(0)
	}
}

func (h *histogram) quantileMicros(q float64) float64 {
	var total, seen int64
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	wanted := int64(q * float64(total))
	for i := range h.counts {
		seen += h.counts[i].Load()
		if seen > wanted {
			octave, low := uint64(i)>>subBits, uint64(i)&(1<<subBits-1)
			if octave == 0 {
				return float64(low) / 1e3
			}
			return float64((1<<subBits+low)<<(octave-1)) / 1e3
		}
	}
	return 0
}
