/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot: ofi_match_take() and ofi_match_find() run for each message. */
#include "ofi/message/match.h"

#include <stdlib.h>
#include <string.h>

#define OF_LINK(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static void list_init(struct ofi_link *l)
{
	l->next = l->prev = l;
}

static void list_append(struct ofi_link *list, struct ofi_link *l)
{
	l->next = list;
	l->prev = list->prev;
	list->prev->next = l;
	list->prev = l;
}

static void list_push(struct ofi_link *list, struct ofi_link *l)
{
	list_append(list->next, l);
}

static void list_remove(struct ofi_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

void ofi_match_init(struct ofi_match *m)
{
	memset(m, 0, sizeof *m);
	list_init(&m->others);
	list_init(&m->posted);
	list_init(&m->arrived);
}

void ofi_match_fini(struct ofi_match *m)
{
	for (unsigned i = 0; i < m->classes; i++)
		free(m->class[i].posted);
}

static size_t bucket_of(const struct ofi_class *c, uint64_t tag, uint32_t source)
{
	uint64_t h = (tag & ~c->ignore) + (c->directed ? (uint64_t)source << 32 | source : 0);

	return (size_t)((h * 0x9e3779b97f4a7c15ull) >> 56) % OFI_BUCKETS;
}

static bool is_for(const struct ofi_posted *p, uint64_t tag, uint32_t source)
{
	return (p->source == OFI_ANY_SOURCE || p->source == source) &&
	       !((p->tag ^ tag) & ~p->ignore);
}

static void class_add_arrived(struct ofi_match *m, unsigned i, struct ofi_arrived *a)
{
	struct ofi_class *c = &m->class[i];

	list_append(&c->arrived[bucket_of(c, a->tag, a->source)], &a->link[i]);
}

/* Make the table of a new class, with the messages that are here already. Returns false if there is
 * no memory. */
static bool class_open(struct ofi_match *m, bool directed, uint64_t ignore)
{
	struct ofi_class *c = &m->class[m->classes];
	struct ofi_link *heads = malloc(2 * OFI_BUCKETS * sizeof *heads);

	if (!heads)
		return false;
	for (size_t i = 0; i < 2 * OFI_BUCKETS; i++)
		list_init(&heads[i]);
	*c = (struct ofi_class){.ignore = ignore,
				.directed = directed,
				.posted = heads,
				.arrived = heads + OFI_BUCKETS};
	m->classes++;
	for (struct ofi_link *l = m->arrived.next; l != &m->arrived; l = l->next)
		class_add_arrived(m, m->classes - 1, OF_LINK(l, struct ofi_arrived, all));
	return true;
}

static unsigned class_find(const struct ofi_match *m, bool directed, uint64_t ignore)
{
	unsigned i = 0;

	while (i < m->classes && (m->class[i].ignore != ignore || m->class[i].directed != directed))
		i++;
	return i;
}

static struct ofi_link *head_of(struct ofi_match *m, const struct ofi_posted *p)
{
	struct ofi_class *c = &m->class[p->place];

	return p->place == OFI_CLASSES ? &m->others : &c->posted[bucket_of(c, p->tag, p->source)];
}

static void count_posted(struct ofi_match *m, const struct ofi_posted *p, int by)
{
	if (p->place < OFI_CLASSES)
		m->class[p->place].posted_count += (size_t)by;
}

void ofi_match_post(struct ofi_match *m, struct ofi_posted *p)
{
	bool directed = p->source != OFI_ANY_SOURCE;

	p->place = class_find(m, directed, p->ignore);
	if (p->place == m->classes &&
	    (m->classes == OFI_CLASSES || !class_open(m, directed, p->ignore)))
		p->place = OFI_CLASSES;
	p->seq = m->seq++;
	list_append(head_of(m, p), &p->link);
	list_append(&m->posted, &p->all);
	count_posted(m, p, 1);
}

/* The receive was the oldest of its key, so it goes to the front of its bucket. */
void ofi_match_post_again(struct ofi_match *m, struct ofi_posted *p)
{
	struct ofi_link *at = head_of(m, p);

	if (p->place == OFI_CLASSES) /* this list is searched from the front */
		while (at->next != &m->others &&
		       OF_LINK(at->next, struct ofi_posted, link)->seq < p->seq)
			at = at->next;
	list_push(at, &p->link);
	list_push(&m->posted, &p->all);
	count_posted(m, p, 1);
}

void ofi_match_remove(struct ofi_match *m, struct ofi_posted *p)
{
	list_remove(&p->link);
	list_remove(&p->all);
	count_posted(m, p, -1);
}

static struct ofi_posted *first_for(const struct ofi_link *list, uint64_t tag, uint32_t source)
{
	for (struct ofi_link *l = list->next; l != list; l = l->next) {
		struct ofi_posted *p = OF_LINK(l, struct ofi_posted, link);

		if (is_for(p, tag, source))
			return p;
	}
	return NULL;
}

struct ofi_posted *ofi_match_take(struct ofi_match *m, uint64_t tag, uint32_t source)
{
	struct ofi_posted *oldest = first_for(&m->others, tag, source);

	for (unsigned i = 0; i < m->classes; i++) {
		struct ofi_class *c = &m->class[i];
		struct ofi_posted *p;

		if (!c->posted_count)
			continue;
		p = first_for(&c->posted[bucket_of(c, tag, source)], tag, source);
		if (p && (!oldest || p->seq < oldest->seq))
			oldest = p;
	}
	if (oldest)
		ofi_match_remove(m, oldest);
	return oldest;
}

void ofi_match_arrive(struct ofi_match *m, struct ofi_arrived *a)
{
	list_append(&m->arrived, &a->all);
	for (unsigned i = 0; i < m->classes; i++)
		class_add_arrived(m, i, a);
	m->arrived_count++;
}

static struct ofi_arrived *find_in_all(struct ofi_match *m, const struct ofi_posted *p)
{
	for (struct ofi_link *l = m->arrived.next; l != &m->arrived; l = l->next) {
		struct ofi_arrived *a = OF_LINK(l, struct ofi_arrived, all);

		if (is_for(p, a->tag, a->source))
			return a;
	}
	return NULL;
}

struct ofi_arrived *ofi_match_find(struct ofi_match *m, const struct ofi_posted *p)
{
	unsigned i;
	struct ofi_link *head;

	if (!m->arrived_count)
		return NULL;
	i = class_find(m, p->source != OFI_ANY_SOURCE, p->ignore);
	if (i == m->classes)
		return find_in_all(m, p);
	head = &m->class[i].arrived[bucket_of(&m->class[i], p -> tag, p -> source)];
	for (struct ofi_link *l = head->next; l != head; l = l->next) {
		struct ofi_arrived *a =
		    (struct ofi_arrived *)((char *)(l - i) - offsetof(struct ofi_arrived, link));

		if (is_for(p, a->tag, a->source))
			return a;
	}
	return NULL;
}

void ofi_match_forget(struct ofi_match *m, struct ofi_arrived *a)
{
	list_remove(&a->all);
	for (unsigned i = 0; i < m->classes; i++)
		list_remove(&a->link[i]);
	m->arrived_count--;
}
