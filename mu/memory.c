/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies named by others. Segment memory cannot go away and is copied directly; private memory is
 * copied by the kernel (process_vm_readv, process_vm_writev), so that a page that was freed gives
 * -EFAULT and never a crash.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "mu/process.h"

static int kernel_copy(pid_t pid, void *mine, uint64_t theirs, uint64_t bytes, int write)
{
	while (bytes) {
		/* One call moves at most 2 GiB less a page. */
		uint64_t n = bytes > (1u << 30) ? (1u << 30) : bytes;
		struct iovec a = { mine, n }, b = { (void *)(uintptr_t)theirs, n };
		ssize_t done = write ? process_vm_writev(pid, &a, 1, &b, 1, 0) :
		                       process_vm_readv(pid, &a, 1, &b, 1, 0);

		if (done < 0)
			return errno == ENOMEM ? -ENOMEM : errno == EPERM ? -EPERM :
			       errno == ESRCH ? -ESHUTDOWN : -EFAULT;
		if (done == 0)
			return -EFAULT;
		mine = (char *)mine + done;
		theirs += (uint64_t)done;
		bytes -= (uint64_t)done;
	}
	return 0;
}

int mu_copy_in(struct mu_process *p, void *to, uint64_t from, uint64_t bytes)
{
	if (mu_in_segment(p, from, bytes)) {
		memcpy(to, (void *)(uintptr_t)from, bytes);
		return 0;
	}
	return kernel_copy(p->pid, to, from, bytes, 0);
}

int mu_copy_out(struct mu_process *p, uint64_t to, const void *from, uint64_t bytes)
{
	if (mu_in_segment(p, to, bytes)) {
		memcpy((void *)(uintptr_t)to, from, bytes);
		return 0;
	}
	return kernel_copy(p->pid, (void *)(uintptr_t)from, to, bytes, 1);
}

int mu_copy_to(struct mu_process *p, uint32_t local, uint64_t to, const void *from, uint64_t bytes)
{
	void *direct = mu_host_translate(p->host, local, to, bytes);

	if (direct) {
		memcpy(direct, from, bytes);
		return 0;
	}
	return kernel_copy((pid_t)mu_host_area(p->host, local)->pid, (void *)(uintptr_t)from, to, bytes, 1);
}

int mu_copy_from(struct mu_process *p, uint32_t local, void *to, uint64_t from, uint64_t bytes)
{
	void *direct = mu_host_translate(p->host, local, from, bytes);

	if (direct) {
		memcpy(to, direct, bytes);
		return 0;
	}
	return kernel_copy((pid_t)mu_host_area(p->host, local)->pid, to, from, bytes, 0);
}

void mu_counter_sub(struct mu_process *p, uint64_t counter, uint64_t bytes)
{
	uint64_t va = counter & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7);

	/* Counters of ours lie in the segment; anything else is not a counter we made. */
	if (va && mu_in_segment(p, va, 8))
		__atomic_fetch_sub((uint64_t *)(uintptr_t)va, bytes, __ATOMIC_RELEASE);
}
