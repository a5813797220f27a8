/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: agas_table_find() lies on the way of every access. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agas/table/table.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

#define SLOTS   4
#define STRIPES 1024u
/* A path to a free slot is searched among this many buckets. */
#define SEARCH 256u
/* Of a processor's large pages. An image that fills some asks for them. */
#define LARGE_PAGE ((size_t)2 << 20)

struct slot {
	atomic_u64 key, value;
};

struct bucket {
	struct slot slot[SLOTS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bucket) == 64, "a bucket is one cache line");

/* The buckets of one size. Old images stay until the table ends, since readers may be in them;
 * together they are smaller than the newest. */
struct image {
	struct image *older;
	uint64_t mask; /* buckets - 1 */
	struct bucket bucket[];
};

struct agas_table {
	ATOMIC(struct image *) image;
	enum agas_table_rule rule;
	bool bounded;
	size_t capacity;
	atomic_u64 count;
	pthread_mutex_t lock;                                     /* AGAS_TABLE_LOCK */
	atomic_u64 random;                                        /* for victims */
	atomic_u32 version[STRIPES] __attribute__((aligned(64))); /* odd: locked */
};

/* ---- places ---- */

static inline uint64_t first_of(uint64_t hash, const struct image *i)
{
	return hash & i->mask;
}

static inline uint64_t second_of(uint64_t hash, const struct image *i)
{
	uint64_t at = (hash >> 32 | hash << 32) & i->mask;

	return at == (hash & i->mask) ? (at ^ 1) & i->mask : at;
}

static inline uint32_t stripe_of(uint64_t bucket)
{
	return (uint32_t)bucket & (STRIPES - 1);
}

/*
 * Keys are all over an image, so that a lookup in small pages also misses the processor's table of
 * translations. Whether large ones are there is for the kernel to say.
 */
static struct image *image_create(uint64_t buckets)
{
	size_t bytes = sizeof(struct image) + buckets * sizeof(struct bucket);
	size_t unit = bytes < LARGE_PAGE ? sizeof(struct bucket) : LARGE_PAGE;
	struct image *i = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);

	if (!i)
		return NULL;
	if (bytes >= LARGE_PAGE) /* not the rest, which would fill a large page with a header */
		(void)madvise(i, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
	memset(i, 0, bytes);
	i->mask = buckets - 1;
	return i;
}

struct agas_table *agas_table_create(size_t capacity, enum agas_table_rule rule, bool bounded)
{
	struct agas_table *t = aligned_alloc(64, (sizeof(*t) + 63) & ~(size_t)63);
	uint64_t buckets = 2;
	struct image *i;

	while (buckets * SLOTS * 7 / 8 < capacity)
		buckets *= 2;
	i = image_create(buckets);
	if (!t || !i) {
		free(t);
		free(i);
		return NULL;
	}
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	t->rule = rule;
	t->bounded = bounded;
	t->capacity = capacity;
	atomic_ptr_store_release(&t->image, i);
	return t;
}

void agas_table_destroy(struct agas_table *t)
{
	struct image *i, *older;

	if (!t)
		return;
	for (i = atomic_ptr_load_acquire(&t->image); i; i = older) {
		older = i->older;
		free(i);
	}
	pthread_mutex_destroy(&t->lock);
	free(t);
}

size_t agas_table_count(const struct agas_table *t)
{
	return atomic_load_relaxed(&t->count);
}

size_t agas_table_bytes(const struct agas_table *t)
{
	struct image *i = atomic_ptr_load_acquire(&t->image);

	return sizeof(*t) + (i->mask + 1) * sizeof(struct bucket);
}

/* ---- locks ---- */

static void stripe_lock(struct agas_table *t, uint32_t s)
{
	uint32_t v = atomic_load_relaxed(&t->version[s]);

	if (t->rule == AGAS_TABLE_ALONE)
		return;
	for (;;) {
		if (!(v & 1) && atomic_cas_weak_acquire(&t->version[s], &v, v + 1))
			return;
		drv_cpu_relax();
		v = atomic_load_relaxed(&t->version[s]);
	}
}

static void stripe_unlock(struct agas_table *t, uint32_t s)
{
	if (t->rule != AGAS_TABLE_ALONE)
		atomic_store_release(&t->version[s], atomic_load_relaxed(&t->version[s]) + 1);
}

static void pair_lock(struct agas_table *t, uint32_t a, uint32_t b)
{
	stripe_lock(t, a < b ? a : b);
	if (a != b)
		stripe_lock(t, a < b ? b : a);
}

static void pair_unlock(struct agas_table *t, uint32_t a, uint32_t b)
{
	stripe_unlock(t, a);
	if (a != b)
		stripe_unlock(t, b);
}

static void global_lock(struct agas_table *t)
{
	if (__builtin_expect(t->rule == AGAS_TABLE_LOCK, 0))
		pthread_mutex_lock(&t->lock);
}

static void global_unlock(struct agas_table *t)
{
	if (__builtin_expect(t->rule == AGAS_TABLE_LOCK, 0))
		pthread_mutex_unlock(&t->lock);
}

/* Lock the two buckets of a key in the newest image. */
static struct image *key_lock(struct agas_table *t, uint64_t hash, uint64_t *a, uint64_t *b)
{
	for (;;) {
		struct image *i = atomic_ptr_load_acquire(&t->image);

		*a = first_of(hash, i);
		*b = second_of(hash, i);
		pair_lock(t, stripe_of(*a), stripe_of(*b));
		if (i == atomic_ptr_load_acquire(&t->image))
			return i;
		pair_unlock(t, stripe_of(*a), stripe_of(*b));
	}
}

/* ---- find ---- */

/* The simple form. Slots are loaded with acquire so that the version is loaded after them. */
static inline bool bucket_find(const struct bucket *b, uint64_t key, uint64_t *value)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (atomic_load_acquire(&b->slot[i].key) == key) {
			*value = atomic_load_acquire(&b->slot[i].value);
			return true;
		}
	return false;
}

/*
 * The same without a branch for each slot. Which slot has a key is chance, so the processor guesses
 * such branches wrongly, and only learns of it when the bucket has come from memory: it would not
 * have begun the lookups behind this one.
 */
static inline bool bucket_find_fast(const struct bucket *b, uint64_t key, uint64_t *value)
{
	unsigned first = atomic_load_acquire(&b->slot[0].key) == key;
	unsigned at = atomic_load_acquire(&b->slot[1].key) == key;

	at |= (unsigned)(atomic_load_acquire(&b->slot[2].key) == key) << 1;
	at |= atomic_load_acquire(&b->slot[3].key) == key ? 3 : 0;
	*value = atomic_load_acquire(&b->slot[at].value);
	return first | at;
}

/* A lookup in both buckets, as often as a writer comes in between. */
static __attribute__((noinline)) bool find_in_both(struct agas_table *t, uint64_t hash,
						   uint64_t key, uint64_t *value)
{
	for (;; drv_cpu_relax()) {
		struct image *i = atomic_ptr_load_acquire(&t->image);
		uint64_t a = first_of(hash, i), b = second_of(hash, i);
		uint32_t va = atomic_load_acquire(&t->version[stripe_of(a)]);
		uint32_t vb = atomic_load_acquire(&t->version[stripe_of(b)]);
		bool found;

		if ((va | vb) & 1)
			continue;
		found = bucket_find_fast(&i->bucket[a], key, value) ||
			bucket_find_fast(&i->bucket[b], key, value);
		/* Both stripes stayed as they were: the key did not move from one to the other
		 * meanwhile. */
		if (atomic_load_acquire(&t->version[stripe_of(a)]) == va &&
		    atomic_load_relaxed(&t->version[stripe_of(b)]) == vb &&
		    i == atomic_ptr_load_relaxed(&t->image))
			return found;
	}
}

/* Most keys are in their first bucket: at half load, 19 of 20. */
static inline bool find_concurrent(struct agas_table *t, uint64_t key, uint64_t *value)
{
	uint64_t hash = agas_hash(key);
	struct image *i = atomic_ptr_load_acquire(&t->image);
	uint64_t a = first_of(hash, i);
	uint32_t v = atomic_load_acquire(&t->version[stripe_of(a)]);

	if (bucket_find_fast(&i->bucket[a], key, value) && !(v & 1) &&
	    atomic_load_acquire(&t->version[stripe_of(a)]) == v &&
	    i == atomic_ptr_load_relaxed(&t->image))
		return true;
	return find_in_both(t, hash, key, value);
}

/* The simple form: alone, or with one lock around it. */
static __attribute__((noinline)) bool find_simply(struct agas_table *t, uint64_t key,
						  uint64_t *value)
{
	uint64_t hash = agas_hash(key);
	struct image *i;
	bool found;

	global_lock(t);
	i = atomic_ptr_load_relaxed(&t->image);
	found = bucket_find(&i->bucket[first_of(hash, i)], key, value) ||
		bucket_find(&i->bucket[second_of(hash, i)], key, value);
	global_unlock(t);
	return found;
}

bool agas_table_find(struct agas_table *t, uint64_t key, uint64_t *value)
{
	if (!key)
		return false;
	if (__builtin_expect(t->rule == AGAS_TABLE_CONCURRENT, 1))
		return find_concurrent(t, key, value);
	return find_simply(t, key, value);
}

/* ---- change ---- */

static struct slot *slot_of(struct bucket *b, uint64_t key)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (atomic_load_relaxed(&b->slot[i].key) == key)
			return &b->slot[i];
	return NULL;
}

static void slot_set(struct slot *s, uint64_t key, uint64_t value)
{
	atomic_store_release(&s->key, key);
	atomic_store_release(&s->value, value);
}

/* A slot of the path search: from which entry of the queue, and by the key in which slot. */
struct step {
	uint64_t bucket;
	int16_t from;
	uint8_t slot;
};

/* Move the key in slot s of one bucket to a free slot of its other bucket. Returns false if they
 * changed meanwhile. */
static bool displace_key(struct agas_table *t, struct image *i, uint64_t from, unsigned s,
			 uint64_t to)
{
	struct slot *source = &i->bucket[from].slot[s], *target;
	uint64_t key, hash;
	bool moved = false;

	pair_lock(t, stripe_of(from), stripe_of(to));
	key = atomic_load_relaxed(&source->key);
	target = slot_of(&i->bucket[to], 0);
	hash = agas_hash(key);
	if (i == atomic_ptr_load_relaxed(&t->image) && key && target &&
	    (first_of(hash, i) == to || second_of(hash, i) == to)) {
		slot_set(target, key, atomic_load_relaxed(&source->value));
		slot_set(source, 0, 0);
		moved = true;
	}
	pair_unlock(t, stripe_of(from), stripe_of(to));
	return moved;
}

/*
 * Make a free slot in one of two buckets, by the shortest path. No lock is held; each move checks
 * that its keys are still there. Returns false if there was no path, or it changed.
 */
static bool make_room(struct agas_table *t, struct image *i, uint64_t a, uint64_t b)
{
	struct step queue[SEARCH];
	unsigned head = 0, tail = 0, s;

	queue[tail++] = (struct step){a, -1, 0};
	queue[tail++] = (struct step){b, -1, 0};
	for (; head < tail; head++) {
		struct bucket *at = &i->bucket[queue[head].bucket];

		if (slot_of(at, 0)) {
			int from = (int)head;

			while (queue[from].from >= 0) {
				struct step *to = &queue[from];

				if (!displace_key(t, i, queue[to->from].bucket, to->slot,
						  to->bucket))
					return false;
				from = to->from;
			}
			return true;
		}
		for (s = 0; s < SLOTS && tail < SEARCH; s++) {
			uint64_t hash = agas_hash(atomic_load_relaxed(&at->slot[s].key));
			uint64_t other = first_of(hash, i);

			if (other == queue[head].bucket)
				other = second_of(hash, i);
			queue[tail++] = (struct step){other, (int16_t)head, (uint8_t)s};
		}
	}
	return false;
}

/* Put into an image that no other thread sees. */
static bool image_put(struct agas_table *alone, struct image *i, uint64_t key, uint64_t value)
{
	uint64_t hash = agas_hash(key), a = first_of(hash, i), b = second_of(hash, i);
	int tries;

	for (tries = 0; tries < 2; tries++) {
		struct slot *s = slot_of(&i->bucket[a], 0);

		s = s ? s : slot_of(&i->bucket[b], 0);
		if (s) {
			slot_set(s, key, value);
			return true;
		}
		if (!make_room(alone, i, a, b))
			return false;
	}
	return false;
}

/* Copy all keys of one image into another. */
static bool image_copy(const struct image *from, struct image *to)
{
	struct agas_table alone = {.rule = AGAS_TABLE_ALONE};
	uint64_t b;
	int s;

	atomic_ptr_store_relaxed(&alone.image, to);
	for (b = 0; b <= from->mask; b++)
		for (s = 0; s < SLOTS; s++) {
			const struct slot *o = &from->bucket[b].slot[s];
			uint64_t key = atomic_load_relaxed(&o->key);

			if (key && !image_put(&alone, to, key, atomic_load_relaxed(&o->value)))
				return false;
		}
	return true;
}

/* Double the table, unless another thread already has. */
static int double_table(struct agas_table *t, struct image *seen)
{
	struct image *now, *next = NULL;
	uint64_t buckets;
	uint32_t s;
	int rc = 0;

	for (s = 0; s < STRIPES; s++)
		stripe_lock(t, s);
	now = atomic_ptr_load_relaxed(&t->image);
	for (buckets = 2 * (now->mask + 1); now == seen; buckets *= 2) {
		next = image_create(buckets);
		rc = next ? 0 : -ENOMEM;
		if (!next || image_copy(now, next))
			break;
		free(next);
	}
	if (next) {
		next->older = now;
		atomic_ptr_store_release(&t->image, next);
	}
	for (s = 0; s < STRIPES; s++)
		stripe_unlock(t, s);
	return rc;
}

static uint64_t random_next(struct agas_table *t)
{
	return agas_hash(atomic_fetch_add_relaxed(&t->random, 1) + 1);
}

/* Evict a random key of the two locked buckets. Returns 0 if both are empty. */
static uint64_t evict_here(struct agas_table *t, struct image *i, uint64_t a, uint64_t b,
			   uint64_t key, uint64_t value)
{
	uint64_t from = random_next(t), n;

	for (n = 0; n < 2 * SLOTS; n++) {
		uint64_t at = (from + n) % (2 * SLOTS);
		struct slot *s = &i->bucket[at < SLOTS ? a : b].slot[at % SLOTS];
		uint64_t gone = atomic_load_relaxed(&s->key);

		if (!gone)
			continue;
		slot_set(s, key, value);
		return gone;
	}
	return 0;
}

/* Evict a key of another bucket: the table is full, but the two buckets of the new key are
 * empty. */
static uint64_t evict_elsewhere(struct agas_table *t)
{
	struct image *i = atomic_ptr_load_acquire(&t->image);
	uint64_t from = random_next(t), n, gone = 0;
	int s;

	for (n = 0; n <= i->mask && !gone; n++) {
		uint64_t at = (from + n) & i->mask;

		stripe_lock(t, stripe_of(at));
		for (s = 0; s < SLOTS && !gone; s++) {
			gone = atomic_load_relaxed(&i->bucket[at].slot[s].key);
			if (gone)
				slot_set(&i->bucket[at].slot[s], 0, 0);
		}
		stripe_unlock(t, stripe_of(at));
	}
	if (gone)
		atomic_fetch_sub_relaxed(&t->count, 1);
	return gone;
}

static int put_key(struct agas_table *t, uint64_t key, uint64_t value, uint64_t *evicted)
{
	uint64_t hash = agas_hash(key), a, b;
	uint64_t gone;
	bool was_full = false;
	int tries = 0, rc;

	for (;;) {
		struct image *i = key_lock(t, hash, &a, &b);
		struct slot *s = slot_of(&i->bucket[a], key);
		bool full = t->bounded && atomic_load_relaxed(&t->count) >= t->capacity;
		int result = 1;

		s = s ? s : slot_of(&i->bucket[b], key);
		if (!s && (full || (t->bounded && tries == 4))) {
			gone = evict_here(t, i, a, b, key, value);
			pair_unlock(t, stripe_of(a), stripe_of(b));
			*evicted = gone ? gone : evict_elsewhere(t);
			if (gone)
				return 2;
			was_full = *evicted != 0;
			continue;
		}
		if (!s) {
			s = slot_of(&i->bucket[a], 0);
			s = s ? s : slot_of(&i->bucket[b], 0);
			result = 0;
		}
		if (s) {
			slot_set(s, key, value);
			if (!result)
				atomic_fetch_add_relaxed(&t->count, 1);
			pair_unlock(t, stripe_of(a), stripe_of(b));
			return !result && was_full ? 2 : result;
		}
		pair_unlock(t, stripe_of(a), stripe_of(b));
		/* A path that changed is searched again; a table without one grows. */
		if (make_room(t, i, a, b) || ++tries < 4 || t->bounded)
			continue;
		rc = double_table(t, i);
		if (rc)
			return rc;
	}
}

int agas_table_put(struct agas_table *t, uint64_t key, uint64_t value, uint64_t *evicted)
{
	uint64_t gone;
	int rc;

	DRV_ASSERT(key);
	global_lock(t);
	rc = put_key(t, key, value, evicted ? evicted : &gone);
	global_unlock(t);
	return rc;
}

bool agas_table_remove(struct agas_table *t, uint64_t key, uint64_t *value)
{
	uint64_t a, b;
	struct image *i;
	struct slot *s;

	if (!key)
		return false;
	global_lock(t);
	i = key_lock(t, agas_hash(key), &a, &b);
	s = slot_of(&i->bucket[a], key);
	s = s ? s : slot_of(&i->bucket[b], key);
	if (s) {
		if (value)
			*value = atomic_load_relaxed(&s->value);
		slot_set(s, 0, 0);
		atomic_fetch_sub_relaxed(&t->count, 1);
	}
	pair_unlock(t, stripe_of(a), stripe_of(b));
	global_unlock(t);
	return s != NULL;
}

void agas_table_walk(struct agas_table *t, void (*fn)(void *arg, uint64_t key, uint64_t value),
		     void *arg)
{
	struct image *i = atomic_ptr_load_acquire(&t->image);
	uint64_t b;
	int s, n;

	for (b = 0; b <= i->mask; b++) {
		uint64_t key[SLOTS], value[SLOTS];

		stripe_lock(t, stripe_of(b));
		for (s = 0, n = 0; s < SLOTS; s++) {
			key[n] = atomic_load_relaxed(&i->bucket[b].slot[s].key);
			value[n] = atomic_load_relaxed(&i->bucket[b].slot[s].value);
			n += key[n] != 0;
		}
		stripe_unlock(t, stripe_of(b));
		for (s = 0; s < n; s++)
			fn(arg, key[s], value[s]);
	}
}
