/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/core/info.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/core/av.h"
#include "ofi/core/provider.h"

#define CAPS_TX (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define CAPS_RX                                                                                    \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |    \
	 FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE)
#define CAPS_DOMAIN (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS        (CAPS_TX | CAPS_RX | CAPS_DOMAIN | FI_NAMED_RX_CTX)
/* The capabilities of a program that gives no hints, or names none of these. */
#define CAPS_DEFAULT (CAPS & ~(FI_DIRECTED_RECV | FI_SOURCE | FI_NAMED_RX_CTX | FI_MULTI_RECV))
#define TX_FLAGS                                                                                   \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |                   \
	 FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define RX_FLAGS (FI_COMPLETION | FI_MULTI_RECV)
#define ORDER    (FI_ORDER_SAS)

/* Return the first thing that the hints ask for and the provider lacks, or NULL. */
static const char *lacks_endpoint(const struct fi_ep_attr *e)
{
	if (e->type != FI_EP_UNSPEC && e->type != FI_EP_RDM)
		return "an endpoint type other than FI_EP_RDM";
	if (e->protocol != FI_PROTO_UNSPEC && e->protocol != OFI_PROTOCOL)
		return "another protocol";
	if (e->max_msg_size > OFI_MAX_BYTES)
		return "longer messages";
	if (e->max_order_raw_size || e->max_order_war_size || e->max_order_waw_size)
		return "ordered one-sided data";
	if (e->tx_ctx_cnt > OFI_SCALABLE_MAX || e->rx_ctx_cnt > OFI_SCALABLE_MAX)
		return "shared contexts, or more contexts of an endpoint";
	return e->auth_key_size ? "an authorization key" : NULL;
}

static const char *lacks_transmit(const struct fi_tx_attr *t)
{
	if (t->caps & ~(CAPS_TX | CAPS_DOMAIN | FI_NAMED_RX_CTX))
		return "capabilities of a transmit context";
	if (t->op_flags & ~TX_FLAGS)
		return "flags of transmit operations";
	if (t->msg_order & ~ORDER)
		return "an order of transmit operations beyond FI_ORDER_SAS";
	if (t->comp_order & ~(uint64_t)FI_ORDER_NONE)
		return "an order of completions";
	if (t->inject_size > OFI_INJECT_BYTES)
		return "a larger inject size";
	if (t->iov_limit > OFI_IOV_LIMIT || t->rma_iov_limit > 1)
		return "longer lists of buffers";
	return NULL;
}

static const char *lacks_receive(const struct fi_rx_attr *r)
{
	if (r->caps & ~(CAPS_RX | CAPS_DOMAIN | FI_NAMED_RX_CTX))
		return "capabilities of a receive context";
	if (r->op_flags & ~RX_FLAGS)
		return "flags of receive operations";
	if (r->msg_order & ~ORDER)
		return "an order of receive operations beyond FI_ORDER_SAS";
	if (r->comp_order & ~(uint64_t)FI_ORDER_NONE)
		return "an order of completions";
	return r->iov_limit > OFI_IOV_LIMIT ? "longer lists of buffers" : NULL;
}

static const char *lacks_domain(const struct fi_domain_attr *d)
{
	if (d->name && strcmp(d->name, OFI_NAME))
		return "another domain";
	if (d->caps & ~CAPS_DOMAIN)
		return "capabilities of a domain";
	if (d->cq_data_size > sizeof(uint64_t))
		return "more remote completion data";
	if (d->mr_key_size > sizeof(uint64_t))
		return "longer keys";
	return d->auth_key_size ? "an authorization key" : NULL;
}

static const char *find_missing(const struct fi_info *h)
{
	const char *what = NULL;

	if (h->caps & ~CAPS)
		return "a capability";
	if (h->addr_format != FI_FORMAT_UNSPEC)
		return "another address format";
	if (h->fabric_attr && h->fabric_attr->name && strcmp(h->fabric_attr->name, OFI_NAME))
		return "another fabric";
	/* "quintorus;ofi_rxm" asks for a utility provider above this one; it needs none. */
	if (h->fabric_attr && h->fabric_attr->prov_name &&
	    strcasecmp(h->fabric_attr->prov_name, OFI_NAME))
		return "another provider, or one layered above this one";
	if (h->ep_attr)
		what = lacks_endpoint(h->ep_attr);
	if (!what && h->tx_attr)
		what = lacks_transmit(h->tx_attr);
	if (!what && h->rx_attr)
		what = lacks_receive(h->rx_attr);
	if (!what && h->domain_attr)
		what = lacks_domain(h->domain_attr);
	return what;
}

/*
 * The registration mode. Programs of versions before 1.5 say FI_MR_BASIC, FI_MR_SCALABLE or
 * nothing; later ones list the modes that they support, and the provider returns those bits of them
 * that make it faster.
 */
static int mr_mode(uint32_t version, const struct fi_info *hints)
{
	int wish = hints && hints->domain_attr ? hints->domain_attr->mr_mode : OFI_MR_BASIC_BITS;

	if (wish == FI_MR_SCALABLE)
		return FI_MR_SCALABLE;
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)) || wish == FI_MR_BASIC)
		return FI_MR_BASIC;
	return wish & OFI_MR_BASIC_BITS;
}

static void fill_domain(struct fi_domain_attr *d, uint32_t version, const struct fi_info *hints)
{
	const struct fi_domain_attr *h = hints ? hints->domain_attr : NULL;

	d->name = strdup(OFI_NAME);
	d->threading = h && h->threading ? h->threading : FI_THREAD_SAFE;
	d->control_progress = h && h->control_progress ? h->control_progress : FI_PROGRESS_MANUAL;
	d->data_progress = h && h->data_progress ? h->data_progress : FI_PROGRESS_MANUAL;
	d->resource_mgmt = FI_RM_ENABLED;
	d->av_type = h && h->av_type ? h->av_type : FI_AV_MAP;
	d->mr_mode = mr_mode(version, hints);
	d->mr_key_size = sizeof(uint64_t);
	d->cq_data_size = sizeof(uint64_t);
	d->cq_cnt = 64;
	d->ep_cnt = 16;
	d->tx_ctx_cnt = d->rx_ctx_cnt = 16;
	d->max_ep_tx_ctx = d->max_ep_rx_ctx = OFI_SCALABLE_MAX;
	d->cntr_cnt = 64;
	d->mr_iov_limit = 1;
	d->mr_cnt = 65536;
	d->caps = CAPS_DOMAIN;
}

static void fill_endpoint(struct fi_ep_attr *e, const struct fi_info *hints)
{
	const struct fi_ep_attr *h = hints ? hints->ep_attr : NULL;

	e->type = FI_EP_RDM;
	e->protocol = OFI_PROTOCOL;
	e->protocol_version = 1;
	e->max_msg_size = OFI_MAX_BYTES;
	e->mem_tag_format = h && h->mem_tag_format ? h->mem_tag_format : UINT64_MAX >> 1;
	e->tx_ctx_cnt = h && h->tx_ctx_cnt ? h->tx_ctx_cnt : 1;
	e->rx_ctx_cnt = h && h->rx_ctx_cnt ? h->rx_ctx_cnt : 1;
}

static struct fi_info *make_info(uint32_t version, const struct fi_info *hints)
{
	struct fi_info *i = fi_allocinfo();
	uint64_t caps = hints && hints->caps ? hints->caps : CAPS_DEFAULT;

	if (!i)
		return NULL;
	/* A caller that names an interface but no direction gets both. */
	if (caps & (FI_MSG | FI_TAGGED) && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & (FI_RMA | FI_ATOMIC) &&
	    !(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	i->caps = caps | CAPS_DOMAIN;
	i->addr_format = FI_FORMAT_UNSPEC;
	i->tx_attr->caps = caps & CAPS_TX;
	i->tx_attr->op_flags = hints && hints->tx_attr ? hints->tx_attr->op_flags : 0;
	i->tx_attr->msg_order = ORDER;
	i->tx_attr->inject_size = OFI_INJECT_BYTES;
	i->tx_attr->size = OFI_QUEUE;
	i->tx_attr->iov_limit = OFI_IOV_LIMIT;
	i->tx_attr->rma_iov_limit = 1;
	i->rx_attr->caps = caps & CAPS_RX;
	i->rx_attr->op_flags = hints && hints->rx_attr ? hints->rx_attr->op_flags : 0;
	i->rx_attr->msg_order = ORDER;
	i->rx_attr->total_buffered_recv = 0;
	i->rx_attr->size = OFI_QUEUE;
	i->rx_attr->iov_limit = OFI_IOV_LIMIT;
	fill_endpoint(i->ep_attr, hints);
	fill_domain(i->domain_attr, version, hints);
	i->fabric_attr->name = strdup(OFI_NAME);
	/* libfabric itself fills in the provider's name. */
	i->fabric_attr->prov_version = OFI_VERSION;
	i->fabric_attr->api_version = version;
	if (!i->domain_attr->name || !i->fabric_attr->name) {
		fi_freeinfo(i);
		return NULL;
	}
	return i;
}

int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	const char *what = hints ? find_missing(hints) : NULL;

	if (!what && node)
		what = "a host by name: addresses come from fi_getname() of a task of the same job";
	if (what) {
		OFI_INFO(FI_LOG_CORE, "the program asks for %s", what);
		return -FI_ENODATA;
	}
	*info = make_info(version, hints);
	return *info ? 0 : -FI_ENOMEM;
}
