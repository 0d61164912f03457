// minio-go v7 against the simulated array.
package main

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"manometer/interop/scenario"
)

type client struct {
	minio  *minio.Client
	bucket string
}

func main() {
	scenario.Main("minio-go", connect)
}

func connect(settings scenario.Settings) (scenario.Client, error) {
	endpoint, err := url.Parse(settings.Endpoint)
	if err != nil {
		return nil, err
	}
	made, err := minio.New(endpoint.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(settings.AccessKey, settings.SecretKey, ""),
		BucketLookup: minio.BucketLookupPath,
		MaxRetries:   1,
	})
	return &client{made, settings.Bucket}, err
}

func (c *client) Put(ctx context.Context, key string, body []byte) error {
	options := minio.PutObjectOptions{DisableMultipart: true, SendContentMd5: len(body)%2 == 1}
	_, err := c.minio.PutObject(ctx, c.bucket, key, bytes.NewReader(body), int64(len(body)), options)
	return err
}

func (c *client) Get(ctx context.Context, key string, from, to int64) ([]byte, error) {
	options := minio.GetObjectOptions{}
	if to >= 0 {
		if err := options.SetRange(from, to); err != nil {
			return nil, err
		}
	}
	object, err := c.minio.GetObject(ctx, c.bucket, key, options)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	return io.ReadAll(object)
}

func (c *client) Head(ctx context.Context, key string) (int64, error) {
	info, err := c.minio.StatObject(ctx, c.bucket, key, minio.StatObjectOptions{})
	return info.Size, err
}

func (c *client) List(ctx context.Context, prefix string, pageSize int) ([]string, error) {
	var keys []string
	options := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: pageSize}
	for object := range c.minio.ListObjects(ctx, c.bucket, options) {
		if object.Err != nil {
			return nil, object.Err
		}
		keys = append(keys, object.Key)
	}
	return keys, nil
}

func (c *client) Delete(ctx context.Context, key string) error {
	return c.minio.RemoveObject(ctx, c.bucket, key, minio.RemoveObjectOptions{})
}

func (c *client) DeleteMany(ctx context.Context, keys []string) error {
	objects := make(chan minio.ObjectInfo, len(keys))
	for _, key := range keys {
		objects <- minio.ObjectInfo{Key: key}
	}
	close(objects)
	for failed := range c.minio.RemoveObjects(ctx, c.bucket, objects, minio.RemoveObjectsOptions{}) {
		return failed.Err
	}
	return nil
}

func (c *client) PutLarge(ctx context.Context, key string, body []byte, partSize int64) error {
	options := minio.PutObjectOptions{PartSize: uint64(partSize), NumThreads: 2}
	_, err := c.minio.PutObject(ctx, c.bucket, key, bytes.NewReader(body), int64(len(body)), options)
	return err
}

func (c *client) PresignGet(ctx context.Context, key string) (string, error) {
	signed, err := c.minio.PresignedGetObject(ctx, c.bucket, key, time.Minute, nil)
	if err != nil {
		return "", err
	}
	return signed.String(), nil
}

func (c *client) Code(err error) string {
	return minio.ToErrorResponse(err).Code
}
