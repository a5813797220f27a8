/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARMCI: one-sided transfers, accumulate, read-modify-write and mutexes on memory that all
 * processes of a job, or of a group, allocate together. Source compatible with the published
 * interface.
 *
 * Terms: the caller makes the call; the target is process `proc` (a world rank, 0 .. nproc - 1).
 * Local completion: the source may be reused, or the data of a get have arrived. Remote completion:
 * a process that synchronises with the caller afterwards sees the effect; only a fence or
 * ARMCI_Barrier gives it. Blocking calls return at local completion. Blocking calls of one caller
 * to one target keep their order.
 *
 * Functions that return int return 0, or FAIL (NULL address), FAIL2 (NULL stride or pointer array),
 * FAIL3 (negative byte count), FAIL4 (stride levels or array length), FAIL5 (no such process),
 * FAIL6 (the transfer failed; the cause is on stderr). A remote address outside every allocation
 * ends the job with a message.
 *
 * Threads: one thread calls ARMCI_Init and ARMCI_Finalize while no other thread is in a call.
 * Between them any number of threads may call at the same time, whatever thread level was
 * requested. Transfers within memory that this process maps run concurrently; other calls exclude
 * each other, and a thread that waits lets other threads in. What is said here of a process holds
 * for all its threads together: a fence waits for the writes of every thread, a get sees the writes
 * of every thread that has synchronised with this one, a mutex excludes threads as it excludes
 * processes. The program must ensure that one thread at a time uses a handle, and that collective
 * calls over a group come from one thread at a time, in the same order in all its processes.
 */
#ifndef ARMCI_H
#define ARMCI_H

#include <stddef.h>
#include <stdlib.h>
#if defined(__has_include) && !defined(ARMCI_NO_MPI_H)
#if __has_include(<mpi.h>)
#include <mpi.h>
#define ARMCI_HAVE_MPI_H 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants ---- */

#define ARMCI_SWAP               10
#define ARMCI_SWAP_LONG          11
#define ARMCI_FETCH_AND_ADD      12
#define ARMCI_FETCH_AND_ADD_LONG 13

#define ARMCI_ACC_OFF 36
#define ARMCI_ACC_INT (ARMCI_ACC_OFF + 1)
#define ARMCI_ACC_DBL (ARMCI_ACC_OFF + 2)
#define ARMCI_ACC_FLT (ARMCI_ACC_OFF + 3)
#define ARMCI_ACC_CPL (ARMCI_ACC_OFF + 4) /* two float: real, imaginary */
#define ARMCI_ACC_DCP (ARMCI_ACC_OFF + 5) /* two double */
#define ARMCI_ACC_LNG (ARMCI_ACC_OFF + 6)
#define ARMCI_ACC_RA  (ARMCI_ACC_OFF + 7) /* exclusive-or of long; the scale is ignored */

#ifndef ARMCI_MAX_STRIDE_LEVEL
#define ARMCI_MAX_STRIDE_LEVEL 8
#endif

#define ARMCI_DOMAIN_SMP 0

#ifndef FAIL
#define FAIL (-1)
#endif
#ifndef FAIL2
#define FAIL2 (-2)
#endif
#ifndef FAIL3
#define FAIL3 (-3)
#endif
#ifndef FAIL4
#define FAIL4 (-4)
#endif
#ifndef FAIL5
#define FAIL5 (-5)
#endif
#ifndef FAIL6
#define FAIL6 (-6)
#endif
#ifndef FAIL7
#define FAIL7 (-7)
#endif
#ifndef FAIL8
#define FAIL8 (-8)
#endif

#define ARMCI_INT       (-99)
#define ARMCI_LONG      (-101)
#define ARMCI_LONG_LONG (-102)
#define ARMCI_FLOAT     (-306)
#define ARMCI_DOUBLE    (-307)

#define SCOPE_ALL     333
#define SCOPE_NODE    337
#define SCOPE_MASTERS 339

/* ---- types ---- */

typedef long armci_size_t;
typedef int armci_domain_t;

/* One set of equally long segments: segment i goes from src_ptr_array[i] to dst_ptr_array[i]. */
typedef struct {
	void **src_ptr_array;
	void **dst_ptr_array;
	int bytes;         /* of each segment */
	int ptr_array_len; /* number of segments */
} armci_giov_t;

/*
 * A handle names outstanding operations. It lives in the caller's memory and owns nothing, so the
 * program may drop it or set it up again once its operations are complete. Zeroed memory is a
 * handle with nothing pending.
 */
typedef struct {
	unsigned int armci_slot;
	unsigned int armci_flags;
	unsigned long armci_generation;
	unsigned long armci_private[2];
} armci_hdl_t;
typedef armci_hdl_t armci_req_t;

/* A copy of a handle is as good as the original. The layout is the same with and without MPI. */
typedef struct {
	__extension__ union {
		void *armci_comm_space;
#ifdef ARMCI_HAVE_MPI_H
		MPI_Comm comm;
#endif
	};
	int size;
	int rank; /* negative in a process that is not a member */
	unsigned long armci_private[2];
} ARMCI_Group;

typedef struct armci_meminfo_ds {
	char *armci_addr; /* the address to use in transfers */
	char *addr;       /* the creator's own address */
	size_t size;
	int cpid; /* the process that created it */
	long idlist[128];
} armci_meminfo_t;

/* ---- start and end ---- */

/*
 * Collective over all processes; calls after the first are only counted. Starts MPI if one is in
 * the program and not yet started, but not under torus run without --mpi. 0, or FAIL6 with the
 * cause on stderr; a later call then fails too.
 */
int ARMCI_Init(void);
/* As ARMCI_Init. argc and argv may be NULL and are not modified. */
int ARMCI_Init_args(int *argc, char ***argv);
/*
 * As ARMCI_Init. If it starts MPI, it asks for this thread level (an MPI_THREAD_ constant). ARMCI
 * itself always behaves as with MPI_THREAD_MULTIPLE.
 */
int ARMCI_Init_thread(int mpi_thread_level);
/* Non-zero between the first Init and the last Finalize. Local, at any time. */
int ARMCI_Initialized(void);
/*
 * Collective. The call that matches the first Init fences, waits for all processes and releases
 * everything, also allocations that were not freed; more calls are ignored. After a death the
 * survivors still wait for each other. Returns 0.
 */
int ARMCI_Finalize(void);
/*
 * For programs that end in a hurry. There is nothing to remove. Local, at any time, also after
 * Finalize.
 */
void ARMCI_Cleanup(void);
/*
 * Print rank, msg (may be NULL) and code to stderr and end the job with a non-zero status. Does not
 * return.
 */
void ARMCI_Error(const char *msg, int code);

/* ---- memory ---- */

/*
 * Collective over all processes. ptrs has nproc entries; entry i names the part of process i, for
 * transfers by this process only. bytes is the length wanted here; it may be 0 (then the entry is
 * NULL) and may differ between processes. Parts start on 64-byte boundaries and are not cleared. 0;
 * FAIL6 at every process if one had no memory; FAIL3 for a negative length here; FAIL if ptrs is
 * NULL.
 */
int ARMCI_Malloc(void **ptrs, armci_size_t bytes);
/*
 * Fence, then give up this process's part: ptr is its own entry, or NULL where it asked for
 * nothing. Every member calls it, in any order; it does not wait for them. The memory of all parts
 * stays as it is until all members that have a part have called this. The group's next collective
 * allocation, ARMCI_Group_free or ARMCI_Finalize then releases it, so a call by one process alone
 * returns. 0, or FAIL6: a member died, and ARMCI_Finalize releases the memory. Another address, or
 * the same one twice, ends the job. If the program has already freed the group, the call is
 * collective and waits.
 */
int ARMCI_Free(void *ptr);
/*
 * As ARMCI_Malloc over the members of a group. ptrs is indexed by rank in the group; transfers name
 * world ranks.
 */
int ARMCI_Malloc_group(void **ptrs, armci_size_t bytes, ARMCI_Group *group);
/* As ARMCI_Free, by the members of the group that allocated. */
int ARMCI_Free_group(void *ptr, ARMCI_Group *group);
/* As ARMCI_Malloc; every device is ordinary memory (NULL too). */
int ARMCI_Malloc_memdev(void **ptrs, armci_size_t bytes, const char *device);
/* As ARMCI_Malloc_group; every device is ordinary memory. */
int ARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group,
			      const char *device);
/* As ARMCI_Free, for what either _memdev call returned. */
int ARMCI_Free_memdev(void *ptr);
/*
 * bytes of memory for this process alone, registered for transfers, on a 64-byte boundary; NULL on
 * failure. Local.
 */
void *ARMCI_Malloc_local(armci_size_t bytes);
/*
 * Free what ARMCI_Malloc_local returned; NULL is allowed. Its transfers must be complete. 0, or
 * FAIL for another address.
 */
int ARMCI_Free_local(void *ptr);
/*
 * Allocate memory in the caller that other processes may use once they have a copy of *info. bytes
 * > 0, memflg 0. Local. Ends the job where there is no memory.
 */
void ARMCI_Memget(size_t bytes, armci_meminfo_t *info, int memflg);
/*
 * The address to use here for the memory that *info describes, plus offset bytes (the creator
 * ignores the offset). Call it before the first transfer. NULL after ARMCI_Memctl.
 */
void *ARMCI_Memat(armci_meminfo_t *info, long offset);
/* Undo ARMCI_Memat; has no effect. */
void ARMCI_Memdt(armci_meminfo_t *info, long offset);
/*
 * End *info: its creator frees the memory, another process forgets it. Transfers to it must be
 * complete.
 */
void ARMCI_Memctl(armci_meminfo_t *info);

/* ---- transfers: src is local and dst remote for put and accumulate, the reverse for get ---- */

/*
 * Put bytes (0 .. INT_MAX) from src here to dst at proc. Returns when src may be reused. FAIL,
 * FAIL3, FAIL5, FAIL6.
 */
int ARMCI_Put(void *src, void *dst, int bytes, int proc);
/*
 * Get bytes (0 .. INT_MAX) from src at proc to dst here. Returns when they have arrived. FAIL,
 * FAIL3, FAIL5, FAIL6.
 */
int ARMCI_Get(void *src, void *dst, int bytes, int proc);
/*
 * dst[i] += *scale * src[i], each element atomic against other accumulates. op is an ARMCI_ACC_
 * code, *scale one element of its type, read during the call; bytes is a multiple of the element.
 * FAIL (also for an unknown op), FAIL3, FAIL5, FAIL6.
 */
int ARMCI_Acc(int op, void *scale, void *src, void *dst, int bytes, int proc);

/*
 * Strided put: count[0] bytes in a segment, count[k] repetitions at level k = 1 .. stride_levels.
 * stride_ar[k] is the distance in bytes between the starts of two items of level k + 1; it may have
 * any sign, and the array may be NULL if there are no levels. stride_levels is 0 ..
 * ARMCI_MAX_STRIDE_LEVEL. A count of 0 moves nothing. All FAIL codes.
 */
int ARMCI_PutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
	       int stride_levels, int proc);
/* Strided get, laid out as for ARMCI_PutS: src at proc, dst here. */
int ARMCI_GetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
	       int stride_levels, int proc);
/*
 * Strided accumulate, laid out as for ARMCI_PutS, op and scale as for ARMCI_Acc. count[0] is a
 * multiple of the element.
 */
int ARMCI_AccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
	       int *count, int stride_levels, int proc);
/* Copy bytes from src to dst locally; they may overlap. */
void ARMCI_Copy(void *src, void *dst, int bytes);
/* A local copy that ignores p. Its value is 0. */
#define ARMCI_Put1(s, d, b, p) (ARMCI_Copy((s), (d), (b)), 0)
/* Pack the patch at ptr (laid out as ARMCI_PutS) into buf, first level fastest. Local. */
void armci_write_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf);
/* Unpack buf into the patch at ptr. Local. */
void armci_read_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf);

/*
 * Put, then write value to the int at flag (at proc). The target never sees the flag before the
 * data. Returns when src may be reused. Errors as ARMCI_Put.
 */
int ARMCI_Put_flag(void *src, void *dst, int bytes, int *flag, int value, int proc);
/* The same after a strided put. Errors as ARMCI_PutS. */
int ARMCI_PutS_flag(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		    int stride_levels, int *flag, int value, int proc);
/* As ARMCI_PutS_flag. */
int ARMCI_PutS_flag_dir(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
			int stride_levels, int *flag, int value, int proc);

/*
 * Put of len descriptors, each of ptr_array_len segments of `bytes` bytes, to proc. Empty
 * descriptors are skipped. Where segments overlap at the target, one of them remains. The arrays
 * are read during the call. FAIL, FAIL2 .. FAIL6.
 */
int ARMCI_PutV(armci_giov_t *darr, int len, int proc);
/* Get of len descriptors from proc: sources there, destinations here. As ARMCI_PutV. */
int ARMCI_GetV(armci_giov_t *darr, int len, int proc);
/*
 * Accumulate of len descriptors. Segments that overlap are all added. op and scale as for
 * ARMCI_Acc, the rest as for ARMCI_PutV.
 */
int ARMCI_AccV(int op, void *scale, armci_giov_t *darr, int len, int proc);

/* Put v to dst at proc. FAIL5, FAIL6. */
int ARMCI_PutValueInt(int v, void *dst, int proc);
/* As ARMCI_PutValueInt, of a long. */
int ARMCI_PutValueLong(long v, void *dst, int proc);
/* As ARMCI_PutValueInt, of a float. */
int ARMCI_PutValueFloat(float v, void *dst, int proc);
/* As ARMCI_PutValueInt, of a double. */
int ARMCI_PutValueDouble(double v, void *dst, int proc);
/* Get the int at src of proc. An error ends the job, since the call cannot return one. */
int ARMCI_GetValueInt(void *src, int proc);
/* As ARMCI_GetValueInt, of a long. */
long ARMCI_GetValueLong(void *src, int proc);
/* As ARMCI_GetValueInt, of a float. */
float ARMCI_GetValueFloat(void *src, int proc);
/* As ARMCI_GetValueInt, of a double. */
double ARMCI_GetValueDouble(void *src, int proc);

/*
 * ---- non-blocking calls ----
 *
 * They return when the operation has started; arguments are those of the blocking forms. A NULL
 * handle is the implicit one, which WaitProc, WaitAll and fences complete. One handle may stand for
 * several operations of one kind. Strides, counts, scale and descriptors are read during the call,
 * data until local completion.
 */

/* Start an ARMCI_Put. */
int ARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
/* Start an ARMCI_Get. */
int ARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
/* Start an ARMCI_Acc. */
int ARMCI_NbAcc(int op, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutS. */
int ARMCI_NbPutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		 int stride_levels, int proc, armci_hdl_t *h);
/* Start an ARMCI_GetS. */
int ARMCI_NbGetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		 int stride_levels, int proc, armci_hdl_t *h);
/* Start an ARMCI_AccS. */
int ARMCI_NbAccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
		 int *count, int stride_levels, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutV. */
int ARMCI_NbPutV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
/* Start an ARMCI_GetV. */
int ARMCI_NbGetV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
/* Start an ARMCI_AccV. */
int ARMCI_NbAccV(int op, void *scale, armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueInt. v is read during the call, also with an aggregate handle. */
int ARMCI_NbPutValueInt(int v, void *dst, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueLong. v is read during the call. */
int ARMCI_NbPutValueLong(long v, void *dst, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueFloat. v is read during the call. */
int ARMCI_NbPutValueFloat(float v, void *dst, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueDouble. v is read during the call. */
int ARMCI_NbPutValueDouble(double v, void *dst, int proc, armci_hdl_t *h);

/*
 * Make *h a handle with nothing pending. Does not wait: operations it stood for continue without
 * it.
 */
void ARMCI_INIT_HANDLE(armci_hdl_t *h);
/*
 * From now on, transfers with h of one direction to one process are collected and sent as one, at
 * the latest by Wait or Test. The sources of puts are read as late as that. Other transfers are
 * sent on their own.
 */
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *h);
/* Wait for what h has collected; from now on it is an ordinary handle. */
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *h);
/*
 * Wait for local completion of every operation started with the handle; returns at once if nothing
 * is pending or h is NULL. 0 or FAIL6.
 */
int ARMCI_Wait(armci_hdl_t *h);
/*
 * 0 when complete (then as after Wait), 1 while pending, negative (FAIL6) when one operation
 * failed.
 */
int ARMCI_Test(armci_hdl_t *h);
/*
 * Wait for local completion of all operations to proc. 0, FAIL5, or FAIL6: an operation without a
 * handle failed since the last wait.
 */
int ARMCI_WaitProc(int proc);
/*
 * Wait for local completion of all operations, also those with handles. 0, or FAIL6 as
 * ARMCI_WaitProc.
 */
int ARMCI_WaitAll(void);

/* ---- fences, read-modify-write, mutexes ---- */

/*
 * Wait for remote completion of everything this process started to proc, unless proc has died. The
 * fence itself sends no message. Ends the job if there is no such process.
 */
void ARMCI_Fence(int proc);
/* ARMCI_Fence for every process. */
void ARMCI_AllFence(void);
/* ARMCI_Fence for every member of the group (NULL: every process). */
void ARMCI_GroupFence(ARMCI_Group *group);
/* ARMCI_AllFence and a barrier over all processes. Collective. */
void ARMCI_Barrier(void);
/*
 * Atomic fetch-and-add (of extra) or swap on the int or long at prem of proc. op is an ARMCI_SWAP
 * or ARMCI_FETCH_AND_ADD code. *ploc receives the old value, and provides the new one for swap.
 * prem must be naturally aligned, else the job ends. In order with this process's other operations
 * on that word. FAIL, FAIL5, FAIL6.
 */
int ARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc);
/*
 * Collective. num (0 or more) mutexes are hosted here; mutex m of process p is (m, p). There is one
 * set at a time; a second one ends the job. 0 or FAIL6.
 */
int ARMCI_Create_mutexes(int num);
/* Collective. 0, or FAIL6: a member died, and ARMCI_Finalize releases them. */
int ARMCI_Destroy_mutexes(void);
/*
 * Wait for the mutex, which is granted in order of arrival; not recursive. A mutex that does not
 * exist ends the job. If proc dies, the call returns without the mutex (a line on stderr;
 * ARMCIX_Is_dead), and no process gets it any more. If its holder dies, the next waiter gets it.
 */
void ARMCI_Lock(int mutex, int proc);
/*
 * Complete the caller's writes to all targets, then release the mutex. A mutex that the caller does
 * not hold stays as it is, and proc reports that on stderr.
 */
void ARMCI_Unlock(int mutex, int proc);

/* ---- groups: lists and ranks are int; a handle is small and may be copied ---- */

/*
 * Collective over the default group. pid_list holds n ranks of it; entry i becomes rank i. n may be
 * 0. Different processes may name different, disjoint lists. A process that is not in its list gets
 * a group of size 0 in which its rank is negative. A process whose list names a dead process gets
 * the same, and a line on stderr names the dead one: calls with that group fail and have no effect.
 * If a member dies during the call, some members may get a group, in which collectives fail. Do not
 * use it as a parent, since members that have it may wait for those that do not; make groups from
 * the world with this call.
 */
void ARMCI_Group_create(int n, int *pid_list, ARMCI_Group *out);
/* As ARMCI_Group_create, collective over parent, with ranks in parent. */
void ARMCI_Group_create_child(int n, int *pid_list, ARMCI_Group *out, ARMCI_Group *parent);
/*
 * Called by all members together (other processes may call it too); ends every copy of the handle.
 * The world stays.
 */
void ARMCI_Group_free(ARMCI_Group *group);
/* 0 and the caller's rank, or non-zero and a negative rank if it is not a member. */
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
/* Number of members; 0 if the caller is not one. */
void ARMCI_Group_size(ARMCI_Group *group, int *size);
/* Set the parent of later ARMCI_Group_create calls. It has no other effect. Local. */
void ARMCI_Group_set_default(ARMCI_Group *group);
/* Get the parent of ARMCI_Group_create. */
void ARMCI_Group_get_default(ARMCI_Group *out);
/* Get the group of all processes. */
void ARMCI_Group_get_world(ARMCI_Group *out);
/* World rank of a rank in the group; -1 if there is no such rank. */
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);
/* Non-zero if memory of the group is shared within a domain. */
int ARMCI_Uses_shm_grp(ARMCI_Group *group);
#ifdef ARMCI_HAVE_MPI_H
/*
 * The library's communicator of the group, with the same ranks; MPI_COMM_NULL at processes that are
 * not members, or where there is no MPI.
 */
MPI_Comm armci_group_comm(ARMCI_Group *group);
/* As ARMCI_Init_thread. comm must hold all processes in the order of MPI_COMM_WORLD, else FAIL6. */
int ARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
/* As ARMCI_Init, with comm as for ARMCI_Init_thread_comm. */
int ARMCI_Init_mpi_comm(MPI_Comm comm);
/* ARMCI_Init_thread_comm, for a profiler to call. */
int PARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
/* ARMCI_Init_mpi_comm, for a profiler to call. */
int PARMCI_Init_mpi_comm(MPI_Comm comm);
#endif

/*
 * ---- locality ----
 *
 * The only kind of domain is ARMCI_DOMAIN_SMP: a run of consecutive ranks that load and store each
 * other's memory.
 */

/* Number of processes in domain id (-1: the caller's). */
int armci_domain_nprocs(armci_domain_t domain, int id);
/* The domain of a process. */
int armci_domain_id(armci_domain_t domain, int world_rank);
/* World rank of the local_id-th (from 0) process of domain id. */
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int local_id);
/* The domain of the caller. */
int armci_domain_my_id(armci_domain_t domain);
/* Number of domains. */
int armci_domain_count(armci_domain_t domain);
/* Non-zero if that process is in the caller's domain. */
int armci_domain_same_id(armci_domain_t domain, int world_rank);
/* As armci_domain_same_id. */
int ARMCI_Same_node(int world_rank);
/* As armci_domain_same_id. */
int armci_sameclusnode(int world_rank);
/* Non-zero if memory is shared within a domain. */
int ARMCI_Uses_shm(void);
/*
 * Set the bytes of shared memory from which on this process warns, once. May be called before
 * ARMCI_Init.
 */
void ARMCI_Set_shm_limit(unsigned long bytes);

/* ---- direct access, notification ---- */

/*
 * Call before loads and stores of own memory at ptr. They see what other processes wrote before
 * they synchronised with this one.
 */
void ARMCI_Access_begin(void *ptr);
/* Call after them. Processes that synchronise with this one see what it stored. */
void ARMCI_Access_end(void *ptr);
/*
 * Notify proc, after all earlier writes to it. Returns how often this process has notified it, or
 * FAIL6: it died. Ends the job if there is no such process.
 */
int armci_notify(int proc);
/*
 * Wait for one more notification by proc. *pval (unless pval is NULL) receives how often this
 * process has waited; returns how often proc has notified it, or FAIL6: proc died.
 */
int armci_notify_wait(int proc, int *pval);
/* armci_notify, for a profiler to call. */
int parmci_notify(int proc);
/* armci_notify_wait, for a profiler to call. */
int parmci_notify_wait(int proc, int *pval);

/* ---- the same functions under the names a profiler calls ---- */

int PARMCI_Init(void);
int PARMCI_Init_args(int *argc, char ***argv);
int PARMCI_Init_thread(int mpi_thread_level);
int PARMCI_Initialized(void);
int PARMCI_Finalize(void);
int PARMCI_Malloc(void **ptrs, armci_size_t bytes);
int PARMCI_Free(void *ptr);
int PARMCI_Malloc_memdev(void **ptrs, armci_size_t bytes, const char *device);
int PARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group,
			       const char *device);
int PARMCI_Free_memdev(void *ptr);
void *PARMCI_Malloc_local(armci_size_t bytes);
int PARMCI_Free_local(void *ptr);
void PARMCI_Memget(size_t bytes, armci_meminfo_t *info, int memflg);
void *PARMCI_Memat(armci_meminfo_t *info, long offset);
void PARMCI_Memctl(armci_meminfo_t *info);
int PARMCI_Put(void *src, void *dst, int bytes, int proc);
int PARMCI_Get(void *src, void *dst, int bytes, int proc);
int PARMCI_Acc(int op, void *scale, void *src, void *dst, int bytes, int proc);
int PARMCI_PutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		int stride_levels, int proc);
int PARMCI_GetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		int stride_levels, int proc);
int PARMCI_AccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
		int *count, int stride_levels, int proc);
int PARMCI_Put_flag(void *src, void *dst, int bytes, int *flag, int value, int proc);
int PARMCI_PutS_flag(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		     int stride_levels, int *flag, int value, int proc);
int PARMCI_PutS_flag_dir(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
			 int stride_levels, int *flag, int value, int proc);
int PARMCI_PutV(armci_giov_t *darr, int len, int proc);
int PARMCI_GetV(armci_giov_t *darr, int len, int proc);
int PARMCI_AccV(int op, void *scale, armci_giov_t *darr, int len, int proc);
int PARMCI_PutValueInt(int v, void *dst, int proc);
int PARMCI_PutValueLong(long v, void *dst, int proc);
int PARMCI_PutValueFloat(float v, void *dst, int proc);
int PARMCI_PutValueDouble(double v, void *dst, int proc);
int PARMCI_GetValueInt(void *src, int proc);
long PARMCI_GetValueLong(void *src, int proc);
float PARMCI_GetValueFloat(void *src, int proc);
double PARMCI_GetValueDouble(void *src, int proc);
int PARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
int PARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
int PARMCI_NbAcc(int op, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
int PARMCI_NbPutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		  int stride_levels, int proc, armci_hdl_t *h);
int PARMCI_NbGetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		  int stride_levels, int proc, armci_hdl_t *h);
int PARMCI_NbAccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
		  int *count, int stride_levels, int proc, armci_hdl_t *h);
int PARMCI_NbPutV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
int PARMCI_NbGetV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
int PARMCI_NbAccV(int op, void *scale, armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
int PARMCI_NbPutValueInt(int v, void *dst, int proc, armci_hdl_t *h);
int PARMCI_NbPutValueLong(long v, void *dst, int proc, armci_hdl_t *h);
int PARMCI_NbPutValueFloat(float v, void *dst, int proc, armci_hdl_t *h);
int PARMCI_NbPutValueDouble(double v, void *dst, int proc, armci_hdl_t *h);
int PARMCI_Wait(armci_hdl_t *h);
int PARMCI_Test(armci_hdl_t *h);
int PARMCI_WaitProc(int proc);
int PARMCI_WaitAll(void);
void PARMCI_Fence(int proc);
void PARMCI_AllFence(void);
void PARMCI_GroupFence(ARMCI_Group *group);
void PARMCI_Barrier(void);
int PARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc);
int PARMCI_Create_mutexes(int num);
int PARMCI_Destroy_mutexes(void);
void PARMCI_Lock(int mutex, int proc);
void PARMCI_Unlock(int mutex, int proc);
void PARMCI_Access_begin(void *ptr);
void PARMCI_Access_end(void *ptr);

#ifdef __cplusplus
}
#endif

#include "message.h"

#endif
