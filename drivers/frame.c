/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/frame.h"

#include "drivers/base/crc32c.h"

static const char *const error_text[DRV_FRAME_ERRORS] = {
    [DRV_FRAME_OK] = "sound",
    [DRV_FRAME_SHORT] = "shorter than it says",
    [DRV_FRAME_FOREIGN] = "not a frame of Quintorus",
    [DRV_FRAME_BYTE_ORDER] = "from a machine of the other byte order",
    [DRV_FRAME_RELEASE] = "of another version",
    [DRV_FRAME_NO_KEY] = "sealed, and this end has no key",
    [DRV_FRAME_UNSEALED] = "not sealed, as all of this job are",
    [DRV_FRAME_FORGED] = "not sealed with this job's key, or changed on the way",
    [DRV_FRAME_MALFORMED] = "malformed",
    [DRV_FRAME_UNCHECKED] = "without the checksum that is wanted",
    [DRV_FRAME_CORRUPT] = "corrupted on the way",
};

const char *drv_frame_error_text(enum drv_frame_error error)
{
	return (unsigned)error < DRV_FRAME_ERRORS ? error_text[error] : "?";
}

/* Return the checksum of a frame; its checksum field counts as zero. */
static uint32_t frame_crc(const unsigned char *frame, uint32_t bytes)
{
	static const unsigned char zero[4];
	const uint32_t at = offsetof(struct drv_frame_header, checksum);
	uint32_t crc = drv_crc32c(0, frame, at);

	crc = drv_crc32c(crc, zero, sizeof zero);
	return drv_crc32c(crc, frame + at + 4, bytes - at - 4);
}

static int runs_fit(const unsigned char *data, uint32_t bytes)
{
	uint32_t at = DRV_FRAME_HEADER;

	/* at and bytes are multiples of 16, so a run header fits where at < bytes. */
	while (at < bytes) {
		const struct drv_frame_run *run = (const void *)(data + at);

		at += DRV_FRAME_RUN;
		if (run->bytes > bytes - at || run->zero || run->zero2)
			return 0;
		at += drv_frame_round(run->bytes);
	}
	return at == bytes;
}

static int body_fits(const struct drv_frame_header *h, const unsigned char *data)
{
	const uint32_t note = DRV_FRAME_HEADER + sizeof(struct drv_frame_note);

	switch (h->kind) {
	case DRV_FRAME_DATA:
		return h->bytes > DRV_FRAME_HEADER && runs_fit(data, h->bytes);
	case DRV_FRAME_ACK:
	case DRV_FRAME_BYE:
		return h->bytes == DRV_FRAME_HEADER;
	case DRV_FRAME_HELLO:
	case DRV_FRAME_ECHO:
		return h->bytes == note;
	case DRV_FRAME_PROBE:
		return h->bytes >= note &&
		       ((const struct drv_frame_note *)(data + DRV_FRAME_HEADER))->frame_bytes ==
			   h->bytes;
	default:
		return 0;
	}
}

enum drv_frame_error drv_frame_check_header(const unsigned char *data, uint32_t bytes)
{
	const struct drv_frame_header *h = (const void *)data;

	if (bytes < DRV_FRAME_HEADER)
		return DRV_FRAME_SHORT;
	if (h->magic != DRV_FRAME_MAGIC)
		return h->magic == DRV_FRAME_MAGIC_SWAPPED ? DRV_FRAME_BYTE_ORDER
							   : DRV_FRAME_FOREIGN;
	if (h->version != DRV_FRAME_VERSION)
		return DRV_FRAME_RELEASE;
	if (h->bytes > bytes)
		return DRV_FRAME_SHORT;
	if (h->bytes < DRV_FRAME_HEADER || h->bytes % DRV_FRAME_RUN)
		return DRV_FRAME_MALFORMED;
	return DRV_FRAME_OK;
}

enum drv_frame_error drv_frame_check_rest(const unsigned char *data)
{
	const struct drv_frame_header *h = (const void *)data;

	return h->flags & ~DRV_FRAME_FLAGS || !h->from || !body_fits(h, data) ? DRV_FRAME_MALFORMED
									      : DRV_FRAME_OK;
}

static uint32_t header_crc(const unsigned char *frame)
{
	return drv_crc32c_line(frame, offsetof(struct drv_frame_header, checksum));
}

/* Check that the checksum covers as much as is wanted, and that it is right. */
static enum drv_frame_error check_sum(const unsigned char *data, enum drv_frame_cover want)
{
	const struct drv_frame_header *h = (const void *)data;
	int control = h->kind != DRV_FRAME_DATA && h->kind != DRV_FRAME_ACK;

	switch (h->flags & (DRV_FRAME_CHECKED | DRV_FRAME_HEADER_CHECKED)) {
	case DRV_FRAME_CHECKED:
		return frame_crc(data, h->bytes) == h->checksum ? DRV_FRAME_OK : DRV_FRAME_CORRUPT;
	case DRV_FRAME_HEADER_CHECKED:
		if (header_crc(data) != h->checksum)
			return DRV_FRAME_CORRUPT;
		return control || want == DRV_FRAME_COVER_ALL ? DRV_FRAME_UNCHECKED : DRV_FRAME_OK;
	case 0:
		if (h->flags & DRV_FRAME_SEALED)
			return DRV_FRAME_NO_KEY;
		return control || want != DRV_FRAME_COVER_NONE ? DRV_FRAME_UNCHECKED : DRV_FRAME_OK;
	default:
		return DRV_FRAME_MALFORMED;
	}
}

enum drv_frame_error drv_frame_check(const unsigned char *data, uint32_t bytes,
				     enum drv_frame_cover want)
{
	const struct drv_frame_header *h = (const void *)data;
	enum drv_frame_error error = drv_frame_check_header(data, bytes);

	if (error == DRV_FRAME_OK)
		error = check_sum(data, want);
	if (error != DRV_FRAME_OK)
		return error;
	if (h->flags & (DRV_FRAME_SEALED | DRV_FRAME_HIDDEN))
		return h->flags & DRV_FRAME_SEALED ? DRV_FRAME_NO_KEY : DRV_FRAME_MALFORMED;
	return drv_frame_check_rest(data);
}

void drv_frame_add_checksum(unsigned char *frame)
{
	struct drv_frame_header *h = (void *)frame;

	h->flags |= DRV_FRAME_CHECKED;
	h->checksum = frame_crc(frame, h->bytes);
}

void drv_frame_add_header_checksum(unsigned char *frame)
{
	struct drv_frame_header *h = (void *)frame;

	h->flags |= DRV_FRAME_HEADER_CHECKED;
	h->checksum = header_crc(frame);
}
