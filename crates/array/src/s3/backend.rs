//! The supported operations, each a function in the module of its kind.

use std::sync::{Arc, RwLock};

use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result};

use super::{buckets, listing, multipart, objects, tagging};
use crate::objects::Objects;

/// The in-memory backend of the S3 library.
pub(super) struct Backend {
    pub(super) objects: Arc<RwLock<Objects>>,
}

/// `async fn name(request) -> answer` for each operation, forwarded to `module::name`.
macro_rules! operations {
    ($($module:ident :: $name:ident ( $input:ty ) -> $output:ty;)*) => {
        #[async_trait::async_trait]
        impl S3 for Backend {
            $(async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                $module::$name(self, request).await.map(S3Response::new)
            })*
        }
    };
}

operations! {
    objects::get_object(GetObjectInput) -> GetObjectOutput;
    objects::head_object(HeadObjectInput) -> HeadObjectOutput;
    objects::put_object(PutObjectInput) -> PutObjectOutput;
    objects::copy_object(CopyObjectInput) -> CopyObjectOutput;
    objects::delete_object(DeleteObjectInput) -> DeleteObjectOutput;
    objects::delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput;
    tagging::get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput;
    tagging::put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput;
    tagging::delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput;
    listing::list_objects(ListObjectsInput) -> ListObjectsOutput;
    listing::list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output;
    buckets::list_buckets(ListBucketsInput) -> ListBucketsOutput;
    buckets::create_bucket(CreateBucketInput) -> CreateBucketOutput;
    buckets::delete_bucket(DeleteBucketInput) -> DeleteBucketOutput;
    buckets::head_bucket(HeadBucketInput) -> HeadBucketOutput;
    buckets::get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput;
    buckets::get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput;
    multipart::create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput;
    multipart::upload_part(UploadPartInput) -> UploadPartOutput;
    multipart::upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput;
    multipart::list_parts(ListPartsInput) -> ListPartsOutput;
    multipart::list_multipart_uploads(ListMultipartUploadsInput) -> ListMultipartUploadsOutput;
    multipart::complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput;
    multipart::abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput;
}
