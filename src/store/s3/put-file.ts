/**
 * Uploads a local file to S3: in one request if it is small, else in parts, one in memory at a time. Each request carries a checksum
 * that the server compares. Nothing is replaced.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { isConflict, isNotImplemented } from './unavailable.ts';

/** At most 10,000 make an object. */
const PART_BYTES = 16 * 1024 * 1024;
/** A server asks for another attempt while another request for the same key goes on, such as one that we gave up. */
const ATTEMPTS_MAX = 3;
const IF_NOTHING_IS_THERE = { IfNoneMatch: '*' };
const NO_CONDITIONS =
  'the S3 server does not know `If-None-Match: *`, without which an object could be replaced: use another';

interface Place {
  readonly Bucket: string;
  readonly Key: string;
}

type Put = (client: S3Client, place: Place, file: FileHandle, size: number, signal: AbortSignal) => Promise<void>;

/**
 * @throws the client's error (`mayBeThere` where there may be an object already), the signal's reason, or the filesystem's error. Then no object
 *   was made, unless it is the answer that was lost.
 */
export async function putFile(client: S3Client, place: Place, path: string, signal: AbortSignal): Promise<void> {
  await using handle = await open(path, 'r');
  const { size } = await handle.stat();
  const put = size > PART_BYTES ? inParts : inOneRequest;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await put(client, place, handle, size, signal);
    } catch (error) {
      if (isNotImplemented(error)) throw new Error(NO_CONDITIONS, { cause: error });
      if (!isConflict(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

const inOneRequest: Put = async (client, place, handle, size, signal) => {
  const Body = await readAt(handle, 0, size);
  const command = new PutObjectCommand({ ...place, ...IF_NOTHING_IS_THERE, Body, ChecksumSHA256: sha256Of(Body) });
  await client.send(command, { abortSignal: signal });
};

const inParts: Put = async (client, place, handle, size, signal) => {
  const create = new CreateMultipartUploadCommand({ ...place, ChecksumAlgorithm: 'SHA256' });
  const { UploadId } = await client.send(create, { abortSignal: signal });
  const upload = { ...place, UploadId };
  try {
    const Parts: { PartNumber: number; ETag: string | undefined; ChecksumSHA256: string }[] = [];
    for (let offset = 0; offset < size; offset += PART_BYTES) {
      const Body = await readAt(handle, offset, Math.min(PART_BYTES, size - offset));
      const part = { PartNumber: Parts.length + 1, ChecksumSHA256: sha256Of(Body) };
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, ...part, Body }), { abortSignal: signal });
      Parts.push({ ...part, ETag });
    }
    const complete = new CompleteMultipartUploadCommand({
      ...upload,
      ...IF_NOTHING_IS_THERE,
      MultipartUpload: { Parts },
    });
    await client.send(complete, { abortSignal: signal });
  } catch (error) {
    // Otherwise the server keeps the parts: invisible, and paid for.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
};

async function readAt(handle: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await handle.read(buffer, done, bytes - done, offset + done);
    if (bytesRead === 0) throw new Error('the file became shorter while it was read');
    done += bytesRead;
  }
  return buffer;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}
