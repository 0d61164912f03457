// Package scenario runs the same operations on the simulated array through both Go clients.
package scenario

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"
)

// Client wraps a foreign S3 library in the calls that the scenario needs. Errors carry the S3 code.
type Client interface {
	Put(ctx context.Context, key string, body []byte) error
	Get(ctx context.Context, key string, from, to int64) ([]byte, error) // to < 0: the whole object
	Head(ctx context.Context, key string) (int64, error)
	List(ctx context.Context, prefix string, pageSize int) ([]string, error)
	Delete(ctx context.Context, key string) error
	DeleteMany(ctx context.Context, keys []string) error
	PutLarge(ctx context.Context, key string, body []byte, partSize int64) error
	PresignGet(ctx context.Context, key string) (string, error)
	Code(err error) string
}

// Settings hold the endpoint and the access keys.
type Settings struct {
	Endpoint, AccessKey, SecretKey, Bucket string
}

// FromEnvironment reads the settings; secrets never appear on a command line.
func FromEnvironment() Settings {
	return Settings{
		Endpoint:  os.Getenv("INTEROP_ENDPOINT"),
		AccessKey: os.Getenv("INTEROP_ACCESS_KEY"),
		SecretKey: os.Getenv("INTEROP_SECRET_KEY"),
		Bucket:    os.Getenv("INTEROP_BUCKET"),
	}
}

// Main runs the scenario and ends the program, with code 1 when anything fails.
func Main(name string, connect func(Settings) (Client, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, FromEnvironment(), connect); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	fmt.Printf("%s: ok\n", name)
}

func run(ctx context.Context, settings Settings, connect func(Settings) (Client, error)) error {
	client, err := connect(settings)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func(context.Context, Client) error
	}{
		{"objects", objects}, {"lists", lists}, {"multipart", multipart}, {"presigned", presigned},
	}
	for _, step := range steps {
		if err := step.do(ctx, client); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	wrong := settings
	wrong.SecretKey = "wrong"
	client, err = connect(wrong)
	if err != nil {
		return err
	}
	if code := client.Code(client.Put(ctx, "refused", []byte("x"))); code != "SignatureDoesNotMatch" {
		return fmt.Errorf("a wrong secret gives %q", code)
	}
	return nil
}

func random(length int) []byte {
	body := make([]byte, length)
	_, _ = rand.Read(body)
	return body
}

func same(what string, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: %d bytes differ from the %d that were written", what, len(got), len(want))
	}
	return nil
}

func objects(ctx context.Context, client Client) error {
	for _, length := range []int{0, 1, 4096, 1<<20 + 3, 9 << 20} {
		key, body := fmt.Sprintf("object %d+ü", length), random(length)
		if err := client.Put(ctx, key, body); err != nil {
			return err
		}
		got, err := client.Get(ctx, key, 0, -1)
		if err != nil {
			return err
		}
		if err := same(key, got, body); err != nil {
			return err
		}
		if size, err := client.Head(ctx, key); err != nil || size != int64(length) {
			return fmt.Errorf("head says %d bytes instead of %d, %v", size, length, err)
		}
		if length > 4096 {
			part, err := client.Get(ctx, key, 1000, 70000)
			if err != nil {
				return err
			}
			if err := same("range of "+key, part, body[1000:70001]); err != nil {
				return err
			}
		}
		if err := client.Delete(ctx, key); err != nil {
			return err
		}
		if _, err := client.Get(ctx, key, 0, -1); client.Code(err) != "NoSuchKey" {
			return fmt.Errorf("a deleted object gives %v", err)
		}
	}
	return nil
}

func lists(ctx context.Context, client Client) error {
	var keys []string
	for number := range 23 {
		key := fmt.Sprintf("list/%02d & <%%>", number)
		keys = append(keys, key)
		if err := client.Put(ctx, key, nil); err != nil {
			return err
		}
	}
	got, err := client.List(ctx, "list/", 5)
	if err != nil {
		return err
	}
	sort.Strings(keys)
	if strings.Join(got, "\n") != strings.Join(keys, "\n") {
		return fmt.Errorf("listed %q", got)
	}
	if err := client.DeleteMany(ctx, keys); err != nil {
		return err
	}
	if got, err = client.List(ctx, "", 1000); err != nil || len(got) != 0 {
		return fmt.Errorf("left after the batch: %q, %v", got, err)
	}
	return nil
}

func multipart(ctx context.Context, client Client) error {
	body := random(12<<20 + 77)
	if err := client.PutLarge(ctx, "large", body, 5<<20); err != nil {
		return err
	}
	got, err := client.Get(ctx, "large", 0, -1)
	if err != nil {
		return err
	}
	if err := same("large", got, body); err != nil {
		return err
	}
	return client.Delete(ctx, "large")
}

func presigned(ctx context.Context, client Client) error {
	body := random(1000)
	if err := client.Put(ctx, "presigned", body); err != nil {
		return err
	}
	url, err := client.PresignGet(ctx, "presigned")
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %v", answer.StatusCode, err)
	}
	if err := same("presigned", got, body); err != nil {
		return err
	}
	return client.Delete(ctx, "presigned")
}
