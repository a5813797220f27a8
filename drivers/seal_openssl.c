/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Module seal: the cipher of sealed frames, by OpenSSL.
 *
 *   authenticated  additional data: header and runs
 *   encrypted      additional data: header; text: runs
 */
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/seal.h"

#define NONCE_BYTES 12

struct drv_seal {
	enum drv_seal_kind kind;
	EVP_CIPHER_CTX *out, *in;
};

static void seal_close(struct drv_seal *s)
{
	EVP_CIPHER_CTX_free(s->out); /* clears the key */
	EVP_CIPHER_CTX_free(s->in);
	free(s);
}

static struct drv_seal *seal_open(enum drv_seal_kind kind, const unsigned char *key)
{
	struct drv_seal *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->kind = kind;
	s->out = EVP_CIPHER_CTX_new();
	s->in = EVP_CIPHER_CTX_new();
	if (s->out && s->in &&
	    EVP_EncryptInit_ex(s->out, EVP_aes_128_gcm(), NULL, key, NULL) == 1 &&
	    EVP_DecryptInit_ex(s->in, EVP_aes_128_gcm(), NULL, key, NULL) == 1)
		return s;
	seal_close(s);
	return NULL;
}

static void nonce_fill(unsigned char *nonce, uint16_t from, uint16_t to, uint64_t number)
{
	memcpy(nonce, &from, 2);
	memcpy(nonce + 2, &to, 2);
	memcpy(nonce + 4, &number, 8);
}

static int seal_frame(struct drv_seal *s, unsigned char *frame, uint32_t to, uint64_t number)
{
	struct drv_frame_header *h = (void *)frame;
	struct drv_frame_trailer *t = (void *)(frame + h->bytes);
	unsigned char nonce[NONCE_BYTES];
	int body = h->bytes - (int)DRV_FRAME_HEADER, done, hide = s->kind == DRV_SEAL_ENCRYPTED;

	*t = (struct drv_frame_trailer){.number = number};
	h->bytes = (uint16_t)(h->bytes + DRV_FRAME_TRAILER);
	h->flags |= DRV_FRAME_SEALED | (hide ? DRV_FRAME_HIDDEN : 0);
	nonce_fill(nonce, h->source, (uint16_t)to, number);
	if (EVP_EncryptInit_ex(s->out, NULL, NULL, NULL, nonce) != 1 ||
	    EVP_EncryptUpdate(s->out, NULL, &done, frame,
			      (int)DRV_FRAME_HEADER + (hide ? 0 : body)) != 1 ||
	    (hide && body &&
	     EVP_EncryptUpdate(s->out, frame + DRV_FRAME_HEADER, &done, frame + DRV_FRAME_HEADER,
			       body) != 1) ||
	    EVP_EncryptFinal_ex(s->out, nonce, &done) != 1 ||
	    EVP_CIPHER_CTX_ctrl(s->out, EVP_CTRL_AEAD_GET_TAG, sizeof t->tag, t->tag) != 1)
		return -EIO;
	return 0;
}

static enum drv_frame_error seal_check(struct drv_seal *s, unsigned char *frame, uint32_t self,
				       uint64_t *number)
{
	struct drv_frame_header *h = (void *)frame;
	struct drv_frame_trailer *t;
	unsigned char nonce[NONCE_BYTES];
	int body = h->bytes - (int)(DRV_FRAME_HEADER + DRV_FRAME_TRAILER), done,
	    hide = h->flags & DRV_FRAME_HIDDEN;

	if (!(h->flags & DRV_FRAME_SEALED))
		return DRV_FRAME_UNSEALED;
	if (body < 0 || (t = (void *)(frame + h->bytes - DRV_FRAME_TRAILER))->zero)
		return DRV_FRAME_FORGED;
	*number = t->number;
	nonce_fill(nonce, h->source, (uint16_t)self, t->number);
	if (EVP_DecryptInit_ex(s->in, NULL, NULL, NULL, nonce) != 1 ||
	    EVP_DecryptUpdate(s->in, NULL, &done, frame,
			      (int)DRV_FRAME_HEADER + (hide ? 0 : body)) != 1 ||
	    (hide && body &&
	     EVP_DecryptUpdate(s->in, frame + DRV_FRAME_HEADER, &done, frame + DRV_FRAME_HEADER,
			       body) != 1) ||
	    EVP_CIPHER_CTX_ctrl(s->in, EVP_CTRL_AEAD_SET_TAG, sizeof t->tag, t->tag) != 1 ||
	    EVP_DecryptFinal_ex(s->in, nonce, &done) != 1)
		return DRV_FRAME_FORGED;
	h->bytes = (uint16_t)(h->bytes - DRV_FRAME_TRAILER);
	h->flags &= (uint16_t) ~(DRV_FRAME_SEALED | DRV_FRAME_HIDDEN);
	return DRV_FRAME_OK;
}

__attribute__((visibility("default"))) const struct drv_seal_module drv_seal_module = {
    DRV_SEAL_MODULE_ABI, seal_open, seal_frame, seal_check, seal_close,
};
