/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena hands out large pieces, so this file cuts chunks of CHUNK bytes into pieces of one
 * power of two each. A table has the chunks, by address: memory of a chunk that it does not have is
 * malloc()'s.
 */
#include "agas/memory/heap.h"

#include <stdint.h>
#include <stdlib.h>

#include "agas/table/table.h"
#include "pami/ext_memory.h"

#define CHUNK_SHIFT 20
#define CHUNK       ((size_t)1 << CHUNK_SHIFT)
#define PIECE_SHIFT 6   /* of the smallest piece */
#define WHOLE       63u /* the class of a chunk, or of several in a row, that is one piece */

struct piece {
	struct piece *next;
};

static struct {
	pami_extension_t extension;
	pami_quintorus_alloc_fn alloc;
	pami_quintorus_free_fn release;
	/* Chunks lie at multiples of CHUNK in the arena, which begins at any page. */
	uintptr_t bias;
	struct agas_table *chunks; /* number of the chunk -> 1 + class of its pieces */
	struct piece *free[CHUNK_SHIFT];
} heap;

bool agas_heap_open(pami_client_t client)
{
	if (PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_MEMORY, &heap.extension) != PAMI_SUCCESS)
		return false;
	heap.alloc = (pami_quintorus_alloc_fn)PAMI_Extension_symbol(heap.extension, "alloc");
	heap.release = (pami_quintorus_free_fn)PAMI_Extension_symbol(heap.extension, "free");
	heap.chunks = agas_table_create(64, AGAS_TABLE_ALONE, false);
	if (heap.alloc && heap.release && heap.chunks)
		return true;
	agas_heap_close();
	return false;
}

static uint64_t chunk_number(const void *at)
{
	return ((uintptr_t)at - heap.bias) >> CHUNK_SHIFT;
}

static void free_chunk(void *arg, uint64_t number, uint64_t value)
{
	heap.release((void *)((uintptr_t)(number << CHUNK_SHIFT) + heap.bias));
}

void agas_heap_close(void)
{
	if (heap.chunks)
		agas_table_walk(heap.chunks, free_chunk, NULL);
	agas_table_destroy(heap.chunks);
	if (heap.extension)
		PAMI_Extension_close(heap.extension);
	heap = (typeof(heap)){0};
}

static void *take_chunks(size_t bytes, unsigned class)
{
	void *chunk = heap.alloc(bytes, CHUNK);

	if (chunk)
		heap.bias = (uintptr_t)chunk & (CHUNK - 1);
	if (chunk && agas_table_put(heap.chunks, chunk_number(chunk), 1 + class, NULL) < 0) {
		heap.release(chunk);
		return NULL;
	}
	return chunk;
}

static void put_piece(void *at, unsigned class)
{
	struct piece *p = at;

	p->next = heap.free[class];
	heap.free[class] = p;
}

/* Cut one more chunk into pieces. */
static void add_pieces(unsigned class)
{
	char *chunk = take_chunks(CHUNK, class);
	size_t at;

	for (at = CHUNK; chunk && at;) {
		at -= (size_t)1 << class;
		put_piece(chunk + at, class);
	}
}

static void *alloc_shared(size_t bytes)
{
	unsigned class = PIECE_SHIFT;
	struct piece *p;

	while (class < CHUNK_SHIFT && (size_t)1 << class < bytes)
		class ++;
	if (class == CHUNK_SHIFT)
		return take_chunks((bytes + CHUNK - 1) & ~(CHUNK - 1), WHOLE);
	if (!heap.free[class])
		add_pieces(class);
	p = heap.free[class];
	if (p)
		heap.free[class] = p->next;
	return p;
}

void *agas_heap_alloc(size_t bytes, size_t align)
{
	void *memory = NULL;

	/* A piece is as aligned as it is long. */
	if (heap.chunks)
		memory = alloc_shared(bytes < align ? align : bytes);
	return memory ? memory : aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

void agas_heap_free(void *memory)
{
	uint64_t number = chunk_number(memory), class;

	if (!memory || !heap.chunks || !agas_table_find(heap.chunks, number, &class)) {
		free(memory);
	} else if (class == 1 + WHOLE) {
		agas_table_remove(heap.chunks, number, NULL);
		heap.release(memory);
	} else {
		put_piece(memory, (unsigned)class - 1);
	}
}
