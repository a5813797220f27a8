/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements sim/proof.h. */
#define _GNU_SOURCE
#include "mu/sim/proof.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "drivers/base/log.h"
#include "mu/engine/memory.h"
#include "mu/vtime/loop.h"

bool sim_proof_holds(const struct sim_proof *p, pid_t pid)
{
	struct iovec local[SIM_PROOF_WORDS], remote[SIM_PROOF_WORDS];
	uint64_t now[SIM_PROOF_WORDS];

	for (uint32_t i = 0; i < p->words; i++) {
		local[i] = (struct iovec){&now[i], 8};
		remote[i] = (struct iovec){(void *)(uintptr_t)p->word[i].at, 8};
	}
	if (!p->words ||
	    process_vm_readv(pid, local, p->words, remote, p->words, 0) != (ssize_t)(8 * p->words))
		return false;
	for (uint32_t i = 0; i < p->words; i++)
		if ((now[i] ^ p->word[i].value) & p->word[i].mask)
			return false;
	return true;
}

#ifdef __x86_64__

#define KEPT_BYTES 256u

/* Memory of a stopped process, as a loop reads it. */
struct reader {
	struct mu_loop_memory memory;
	pid_t pid;
	struct sim_proof *proof; /* words so far */
	bool has_failed;         /* memory that is not there, or too many words */
	bool has_kept;
	uint64_t kept_at;
	unsigned char kept[KEPT_BYTES];
};

/* The aligned 8 bytes at `at`, which the proof then depends on. */
static uint64_t read_word(struct reader *r, uint64_t at)
{
	struct sim_proof *p = r->proof;
	uint32_t i = 0;

	while (i < p->words && p->word[i].at != at)
		i++;
	if (i == p->words) {
		if (i == SIM_PROOF_WORDS ||
		    mu_copy_by_kernel(r->pid, &p->word[i].value, at, 8, false)) {
			r->has_failed = true;
			return 0;
		}
		p->word[i].at = at;
		p->word[i].mask = UINT64_MAX;
		p->words++;
	}
	return p->word[i].value;
}

/* Bytes that decide nothing after the proof: instructions, and what the loop stores. */
static uint64_t read_other(struct reader *r, uint64_t at, unsigned size)
{
	uint64_t value = 0;

	if (!r->has_kept || at - r->kept_at > KEPT_BYTES - size) {
		/* So many bytes never reach into another page, unless the operand itself does. */
		r->kept_at = at & ~(uint64_t)(KEPT_BYTES - 1);
		if (at - r->kept_at > KEPT_BYTES - size)
			r->kept_at = at;
		r->has_kept = !mu_copy_by_kernel(r->pid, r->kept, r->kept_at, KEPT_BYTES, false);
	}
	if (r->has_kept)
		memcpy(&value, r->kept + (at - r->kept_at), size);
	r->has_failed |= !r->has_kept;
	return value;
}

static uint64_t read_stopped(struct mu_loop_memory *m, uint64_t at, unsigned size, bool is_load)
{
	struct reader *r = (struct reader *)(void *)m;
	unsigned shift = (unsigned)(at & 7) * 8;
	uint64_t value;

	if (!is_load)
		return read_other(r, at, size);
	value = read_word(r, at & ~7ull) >> shift;
	if ((at & 7) + size > 8)
		value |= read_word(r, (at & ~7ull) + 8) << (64 - shift);
	return size == 8 ? value : value & ((1ull << size * 8) - 1);
}

/*
 * The loop itself says what it stores, so only the other bits that it loads can end it. (What lies
 * beside a flag, in the same word, may well be stored.)
 */
static void forget_stored(struct sim_proof *p, const struct mu_loop *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->words; i++) {
		for (uint32_t k = 0; k < l->words; k++)
			if (l->word[k].at == p->word[i].at)
				p->word[i].mask &= ~l->word[k].mask;
		if (p->word[i].mask)
			p->word[kept++] = p->word[i];
	}
	p->words = kept;
}

/* Is that what a pause returns: its end, or that the kernel will resume the sleep? */
static bool has_paused(long result)
{
	const long restart_block = 516; /* ERESTART_RESTARTBLOCK of Linux */

	return !result || result == -restart_block;
}

static bool is_waiting(struct sim_proof *p, pid_t pid, const struct user_regs_struct *u,
		       const struct user_fpregs_struct *f)
{
	struct reader r = {.memory = {read_stopped}, .pid = pid, .proof = p};
	struct mu_loop l = {.memory = &r.memory,
			    .reg = {u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
				    u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15},
			    .ip = u->rip,
			    .fs = u->fs_base,
			    .flags = (uint32_t)u->eflags & MU_LOOP_FLAGS,
			    .known = MU_LOOP_FLAGS,
			    .vectors_known = 0xffff};

	for (unsigned i = 0; i < 16; i++)
		memcpy(&l.vector[i], &f->xmm_space[4 * i], sizeof l.vector[i]);
	if ((long)u->orig_rax >= 0) {
		if (!mu_loop_is_pause(u->orig_rax, l.reg) || !has_paused((long)u->rax))
			return false;
		mu_loop_end_pause(&l);
	}
	if (!mu_loop_is_waiting(&l) || r.has_failed)
		return false;
	forget_stored(p, &l);
	return p->words;
}

/* Does the process have one thread beside `others`? */
static bool is_one_thread(pid_t pid, unsigned others)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return !stat(path, &st) && st.st_nlink == 2 + 1 + (nlink_t)others;
}

/*
 * Stop the first thread of a process. Returns false if it does not stop; *signal: to be delivered
 * when it goes on. Its end is left for the agent to see, so only its stop is waited for.
 */
static bool stop_thread(pid_t pid, int *signal)
{
	siginfo_t info = {0};

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL)) {
		drv_info("virtual clock: process %d cannot be looked at (%s), so "
			 "QUINTORUS_SPIN_MS tells whether it waits in a loop for its memory",
			 (int)pid, strerror(errno));
		return false;
	}
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL))
		if (errno != EINTR)
			return false;
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | __WALL) || !info.si_pid)
		return false; /* it has ended, or SIGKILL ends it now */
	/* Else a signal came first, which is not one of ours. */
	*signal = info.si_status >> 8 == PTRACE_EVENT_STOP ? 0 : info.si_status & 0xff;
	return true;
}

bool sim_proof_make(struct sim_proof *p, pid_t pid, unsigned others)
{
	struct user_regs_struct u;
	struct user_fpregs_struct f;
	bool is_proved;
	int signal = 0;

	p->words = 0;
	if (pid <= 1 || !is_one_thread(pid, others) || !stop_thread(pid, &signal))
		return false;
	is_proved = !signal && !ptrace(PTRACE_GETREGS, pid, NULL, &u) &&
		    !ptrace(PTRACE_GETFPREGS, pid, NULL, &f) && is_waiting(p, pid, &u, &f);
	ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signal);
	if (!is_proved)
		p->words = 0;
	return is_proved;
}

#else

bool sim_proof_make(struct sim_proof *p, pid_t pid, unsigned others)
{
	(void)pid;
	(void)others;
	p->words = 0;
	return false;
}

#endif
