// The peer for S3: minio-go v7, the library that warp uses for its load.
//
// A fixed number of goroutines put or get objects of one size, each request on its own kept-alive
// connection. It is set up as fast as the library allows for a like-for-like comparison: payload
// unsigned, no checksum, no multipart, no compression, no retries.
// Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const warmUp = 500 * time.Millisecond

type settings struct {
	endpoint, bucket, op, api  string
	size, objects, concurrency int
	seconds                    float64
}

type totals struct {
	ops, bytes, errors atomic.Int64
	latency            histogram
}

func main() {
	var s settings
	flag.StringVar(&s.endpoint, "endpoint", "127.0.0.1:7070", "host:port, plain HTTP")
	flag.StringVar(&s.bucket, "bucket", "bench", "an existing bucket")
	flag.StringVar(&s.op, "op", "get", "get or put")
	flag.StringVar(&s.api, "api", "warp", "core (the library's fastest way to get) or warp (the way warp gets)")
	flag.IntVar(&s.size, "size", 8<<20, "bytes of one object")
	flag.IntVar(&s.objects, "objects", 16, "objects to cycle through")
	flag.IntVar(&s.concurrency, "concurrency", 4, "requests in flight")
	flag.Float64Var(&s.seconds, "seconds", 2, "length of the measured window")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "s3-peer:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	client, err := connect(s)
	if err != nil {
		return err
	}
	payload := make([]byte, s.size)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range payload {
		payload[i] = byte(source.Uint32())
	}
	load := &load{settings: s, client: client, payload: payload, prefix: fmt.Sprintf("s3-peer-%d/", os.Getpid())}
	defer load.remove()
	if s.op == "get" {
		for i := range s.objects {
			if err := load.put(context.Background(), i); err != nil {
				return fmt.Errorf("lay out: %w", err)
			}
		}
	}
	return load.measure()
}

func connect(s settings) (*minio.Core, error) {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		MaxIdleConnsPerHost: s.concurrency,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
		DisableCompression:  true,
	}
	return minio.NewCore(s.endpoint, &minio.Options{
		Creds:        credentials.NewStaticV4(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
		Region:       "us-east-1",
		BucketLookup: minio.BucketLookupPath,
		Transport:    transport,
		MaxRetries:   1,
	})
}

type load struct {
	settings
	client  *minio.Core
	payload []byte
	prefix  string
	next    atomic.Int64
	totals  totals
}

func (l *load) key(i int) string { return fmt.Sprintf("%s%016x", l.prefix, i) }

func (l *load) put(ctx context.Context, i int) error {
	options := minio.PutObjectOptions{DisableContentSha256: true, DisableMultipart: true}
	_, err := l.client.Client.PutObject(ctx, l.bucket, l.key(i), bytes.NewReader(l.payload), int64(l.size), options)
	return err
}

// readerOnly exposes to io.Copy only the method that warp's own wrapper has.
type readerOnly struct{ io.Reader }

func (l *load) get(ctx context.Context, i int, buffer []byte) error {
	var got int64
	if l.api == "core" {
		body, _, _, err := l.client.GetObject(ctx, l.bucket, l.key(i), minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		got, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, body, buffer)
		if err != nil {
			return err
		}
	} else {
		object, err := l.client.Client.GetObject(ctx, l.bucket, l.key(i), minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer object.Close()
		got, err = io.Copy(io.Discard, readerOnly{object})
		if err != nil {
			return err
		}
	}
	if got != int64(l.size) {
		return fmt.Errorf("%s: %d bytes, not %d", l.key(i), got, l.size)
	}
	return nil
}

func (l *load) worker(ctx context.Context) {
	buffer := make([]byte, 256<<10)
	for ctx.Err() == nil {
		i := int(l.next.Add(1)) % l.objects
		began := time.Now()
		var err error
		if l.op == "get" {
			err = l.get(ctx, i, buffer)
		} else {
			err = l.put(ctx, i)
		}
		if err != nil {
			if ctx.Err() == nil {
				l.totals.errors.Add(1)
			}
			continue
		}
		l.totals.latency.record(time.Since(began))
		l.totals.ops.Add(1)
		l.totals.bytes.Add(int64(l.size))
	}
}

func (l *load) measure() error {
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	for range l.concurrency {
		workers.Go(func() { l.worker(ctx) })
	}
	time.Sleep(warmUp)
	began, cpu := time.Now(), cpuSeconds()
	ops, sent, errors := l.totals.ops.Load(), l.totals.bytes.Load(), l.totals.errors.Load()
	l.totals.latency.reset()
	time.Sleep(time.Duration(l.seconds * float64(time.Second)))
	ended, cpuEnd := time.Now(), cpuSeconds()
	line := map[string]any{
		"tool": "minio-go", "op": l.op,
		"ops": l.totals.ops.Load() - ops, "bytes": l.totals.bytes.Load() - sent, "errors": l.totals.errors.Load() - errors,
		"seconds": ended.Sub(began).Seconds(), "cpu_seconds": cpuEnd - cpu,
		"p50_us": l.totals.latency.quantileMicros(0.50), "p99_us": l.totals.latency.quantileMicros(0.99),
	}
	stop()
	workers.Wait()
	return json.NewEncoder(os.Stdout).Encode(line)
}

func (l *load) remove() {
	for i := range l.objects {
		_ = l.client.RemoveObject(context.Background(), l.bucket, l.key(i), minio.RemoveObjectOptions{})
	}
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
