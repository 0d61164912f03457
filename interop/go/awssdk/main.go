// aws-sdk-go-v2 against the simulated array, with the checksums that it sends by default.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"manometer/interop/scenario"
)

type client struct {
	s3     *s3.Client
	bucket *string
}

func main() {
	scenario.Main("aws-sdk-go-v2", connect)
}

func connect(settings scenario.Settings) (scenario.Client, error) {
	made := s3.New(s3.Options{
		BaseEndpoint:     aws.String(settings.Endpoint),
		Credentials:      credentials.NewStaticCredentialsProvider(settings.AccessKey, settings.SecretKey, ""),
		Region:           "us-east-1",
		UsePathStyle:     true,
		RetryMaxAttempts: 1,
	})
	return &client{made, aws.String(settings.Bucket)}, nil
}

func (c *client) Put(ctx context.Context, key string, body []byte) error {
	_, err := c.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: c.bucket, Key: &key, Body: bytes.NewReader(body)})
	return err
}

func (c *client) Get(ctx context.Context, key string, from, to int64) ([]byte, error) {
	input := &s3.GetObjectInput{Bucket: c.bucket, Key: &key}
	if to >= 0 {
		input.Range = aws.String(fmt.Sprintf("bytes=%d-%d", from, to))
	}
	answer, err := c.s3.GetObject(ctx, input)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

func (c *client) Head(ctx context.Context, key string) (int64, error) {
	answer, err := c.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: c.bucket, Key: &key})
	if err != nil {
		return 0, err
	}
	return aws.ToInt64(answer.ContentLength), nil
}

func (c *client) List(ctx context.Context, prefix string, pageSize int) ([]string, error) {
	var keys []string
	pages := s3.NewListObjectsV2Paginator(c.s3, &s3.ListObjectsV2Input{
		Bucket: c.bucket, Prefix: &prefix, MaxKeys: aws.Int32(int32(pageSize)),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Contents {
			keys = append(keys, *object.Key)
		}
	}
	return keys, nil
}

func (c *client) Delete(ctx context.Context, key string) error {
	_, err := c.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: c.bucket, Key: &key})
	return err
}

func (c *client) DeleteMany(ctx context.Context, keys []string) error {
	var objects []types.ObjectIdentifier
	for _, key := range keys {
		objects = append(objects, types.ObjectIdentifier{Key: aws.String(key)})
	}
	answer, err := c.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: c.bucket, Delete: &types.Delete{Objects: objects},
	})
	if err != nil {
		return err
	}
	if len(answer.Deleted) != len(keys) || len(answer.Errors) != 0 {
		return fmt.Errorf("%d of %d deleted, %d errors", len(answer.Deleted), len(keys), len(answer.Errors))
	}
	return nil
}

func (c *client) PutLarge(ctx context.Context, key string, body []byte, partSize int64) error {
	upload, err := c.s3.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: c.bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c,
	})
	if err != nil {
		return err
	}
	var parts []types.CompletedPart
	for number := int32(1); len(body) > 0; number++ {
		now := body[:min(int(partSize), len(body))]
		body = body[len(now):]
		part, err := c.s3.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: c.bucket, Key: &key, UploadId: upload.UploadId, PartNumber: aws.Int32(number),
			Body: bytes.NewReader(now), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c,
		})
		if err != nil {
			return err
		}
		parts = append(parts, types.CompletedPart{
			PartNumber: aws.Int32(number), ETag: part.ETag, ChecksumCRC32C: part.ChecksumCRC32C,
		})
	}
	_, err = c.s3.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: c.bucket, Key: &key, UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return err
}

func (c *client) PresignGet(ctx context.Context, key string) (string, error) {
	signer := s3.NewPresignClient(c.s3)
	signed, err := signer.PresignGetObject(
		ctx, &s3.GetObjectInput{Bucket: c.bucket, Key: &key}, s3.WithPresignExpires(time.Minute),
	)
	if err != nil {
		return "", err
	}
	return signed.URL, nil
}

func (c *client) Code(err error) string {
	var named smithy.APIError
	if errors.As(err, &named) {
		return named.ErrorCode()
	}
	return ""
}
