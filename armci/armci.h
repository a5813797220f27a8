/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARMCI: one-sided transfers, accumulate, read-modify-write and mutexes on memory that all processes of
 * a job, or of a group, allocate together. Source compatible with the published interface.
 *
 * Words: the caller makes the call, the target is the process `proc` (a world rank, 0 .. nproc - 1).
 * Local completion: the source may be reused, or the data of a get has arrived. Remote completion:
 * whoever synchronises with the caller afterwards sees the effect; only a fence or ARMCI_Barrier gives
 * it. Blocking calls return at local completion; those of one caller to one target keep their order.
 *
 * Functions returning int return 0, or FAIL (NULL address), FAIL2 (NULL stride or pointer array), FAIL3
 * (negative byte count), FAIL4 (stride levels or array length), FAIL5 (no such process), FAIL6 (the
 * transfer failed, cause on stderr). A remote address outside every allocation ends the job with a
 * message. One thread of a process at a time may call.
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
	int ptr_array_len; /* segments */
} armci_giov_t;

/*
 * Names outstanding operations. Lives in the caller's memory, owns nothing: it may be dropped or set up
 * again once its operations are complete. Zeroed memory is a handle with nothing pending.
 */
typedef struct {
	unsigned int armci_slot;
	unsigned int armci_flags;
	unsigned long armci_generation;
	unsigned long armci_private[2];
} armci_hdl_t;
typedef armci_hdl_t armci_req_t;

/* Copies are as good as the original. The layout is the same with and without MPI. */
typedef struct {
	__extension__ union {
		void *armci_comm_space;
#ifdef ARMCI_HAVE_MPI_H
		MPI_Comm comm;
#endif
	};
	int size;
	int rank; /* negative in a process that is no member */
	unsigned long armci_private[2];
} ARMCI_Group;

typedef struct armci_meminfo_ds {
	char *armci_addr; /* for transfers */
	char *addr;       /* the creator's own address */
	size_t size;
	int cpid; /* creator */
	long idlist[128];
} armci_meminfo_t;

/* ---- start and end ---- */

/*
 * Collective over all processes; calls after the first only count. Starts MPI if one is in the program and was not
 * started (not under torus run without --mpi). 0, or FAIL6 with the cause on stderr; it is not tried again then.
 */
int ARMCI_Init(void);
/* As ARMCI_Init; argc and argv may be NULL and are not modified. */
int ARMCI_Init_args(int *argc, char ***argv);
/* As ARMCI_Init, starting MPI with this thread level. Calls of ARMCI still come from one thread at a time. */
int ARMCI_Init_thread(int mpi_thread_level);
/* Non-zero between the first Init and the last Finalize. Local, at any time. */
int ARMCI_Initialized(void);
/*
 * Collective; the call that matches the first Init fences, waits for all and releases, allocations that were not freed
 * too; more calls are ignored. After a death the survivors still wait for each other. 0.
 */
int ARMCI_Finalize(void);
/* For an end in a hurry; there is nothing to remove here. Local, at any time, also after Finalize. */
void ARMCI_Cleanup(void);
/* Print rank, msg (may be NULL) and code to stderr and end the job with a non-zero status. Does not return. */
void ARMCI_Error(const char *msg, int code);

/* ---- memory ---- */

/*
 * Collective over all processes. ptrs  nproc entries; entry i names the part of process i, for transfers by this
 * process only. bytes  wanted here; may be 0 (then the entry is NULL) and may differ between processes. Parts
 * start on 64-byte boundaries and are not cleared. 0; at every process FAIL6 where there was no memory, FAIL3 for a
 * negative length here, FAIL if ptrs is NULL.
 */
int ARMCI_Malloc(void **ptrs, armci_size_t bytes);
/* Collective; ptr is the caller's own entry (NULL where it asked for nothing). Fences first. 0, or FAIL6: a member died, and
 * it goes with ARMCI_Finalize; another address ends the job. */
int ARMCI_Free(void *ptr);
/* As ARMCI_Malloc over the members of a group: ptrs by rank in the group; transfers name world ranks. */
int ARMCI_Malloc_group(void **ptrs, armci_size_t bytes, ARMCI_Group *group);
/* As ARMCI_Free, collective over the members of the group that allocated. */
int ARMCI_Free_group(void *ptr, ARMCI_Group *group);
/* As ARMCI_Malloc; every device is ordinary memory (NULL too). */
int ARMCI_Malloc_memdev(void **ptrs, armci_size_t bytes, const char *device);
/* As ARMCI_Malloc_group; every device is ordinary memory. */
int ARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group, const char *device);
/* As ARMCI_Free, of what either _memdev call gave. */
int ARMCI_Free_memdev(void *ptr);
/* bytes of memory of this process alone, registered for transfers, on a 64-byte boundary; NULL on failure. Local. */
void *ARMCI_Malloc_local(armci_size_t bytes);
/* Free what ARMCI_Malloc_local gave; NULL is nothing. Its transfers must be over. 0, or FAIL for another address. */
int ARMCI_Free_local(void *ptr);
/*
 * Memory of the caller alone that others may be told of by a copy of *info: bytes > 0, memflg 0. Local. Ends the job
 * where there is no memory.
 */
void ARMCI_Memget(size_t bytes, armci_meminfo_t *info, int memflg);
/*
 * The address to use here for the memory that *info describes, offset bytes on (at the creator the offset does not
 * count); call it before the first transfer. NULL after ARMCI_Memctl.
 */
void *ARMCI_Memat(armci_meminfo_t *info, long offset);
/* Undo ARMCI_Memat: nothing to do. */
void ARMCI_Memdt(armci_meminfo_t *info, long offset);
/* The end of *info: at its creator the memory is freed, elsewhere forgotten; transfers to it must be over. */
void ARMCI_Memctl(armci_meminfo_t *info);

/* ---- transfers: src local and dst remote for put and accumulate, the other way round for get ---- */

/* bytes (0 .. INT_MAX) from src here to dst at proc. Returns when src may be reused. FAIL, FAIL3, FAIL5, FAIL6. */
int ARMCI_Put(void *src, void *dst, int bytes, int proc);
/* bytes (0 .. INT_MAX) from src at proc to dst here. Returns when they are there. FAIL, FAIL3, FAIL5, FAIL6. */
int ARMCI_Get(void *src, void *dst, int bytes, int proc);
/*
 * dst[i] += *scale * src[i], each element atomic against other accumulates; op is an ARMCI_ACC_ code, *scale one element
 * of its type, read at once; bytes a multiple of the element. FAIL (also: no such op), FAIL3, FAIL5, FAIL6.
 */
int ARMCI_Acc(int op, void *scale, void *src, void *dst, int bytes, int proc);

/*
 * Strided put: count[0] bytes in a segment, count[k] repetitions at level k = 1 .. stride_levels; stride_ar[k] bytes
 * between the starts of two items of level k + 1, any sign, NULL where there are no levels. stride_levels 0 ..
 * ARMCI_MAX_STRIDE_LEVEL. A count of 0 moves nothing. All FAIL codes.
 */
int ARMCI_PutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
	       int stride_levels, int proc);
/* Strided get, laid out as ARMCI_PutS: src at proc, dst here. */
int ARMCI_GetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
	       int stride_levels, int proc);
/* Strided accumulate, laid out as ARMCI_PutS, op and scale as ARMCI_Acc; count[0] a multiple of the element. */
int ARMCI_AccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
	       int *count, int stride_levels, int proc);
/* A local copy of bytes from src to dst, which may overlap. */
void ARMCI_Copy(void *src, void *dst, int bytes);
/* A local copy that ignores p; value 0. */
#define ARMCI_Put1(s, d, b, p) (ARMCI_Copy((s), (d), (b)), 0)
/* Pack the patch at ptr (laid out as ARMCI_PutS) into buf, first level fastest. Local. */
void armci_write_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf);
/* Unpack buf into the patch at ptr. Local. */
void armci_read_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf);

/*
 * A put, then value to the int at flag (remote, of proc), which the target never sees before the data. Returns when src
 * may be reused. Errors as ARMCI_Put.
 */
int ARMCI_Put_flag(void *src, void *dst, int bytes, int *flag, int value, int proc);
/* The same behind a strided put. Errors as ARMCI_PutS. */
int ARMCI_PutS_flag(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		    int stride_levels, int *flag, int value, int proc);
/* As ARMCI_PutS_flag. */
int ARMCI_PutS_flag_dir(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
			int stride_levels, int *flag, int value, int proc);

/*
 * Put of len descriptors, each of ptr_array_len segments of `bytes` bytes, to proc. Empty descriptors are skipped; segments
 * that overlap at the target leave any of them. The arrays are read during the call. FAIL, FAIL2 .. FAIL6.
 */
int ARMCI_PutV(armci_giov_t *darr, int len, int proc);
/* Get of len descriptors from proc: sources there, destinations here. As ARMCI_PutV. */
int ARMCI_GetV(armci_giov_t *darr, int len, int proc);
/* Accumulate of len descriptors; where segments overlap all count. op, scale as ARMCI_Acc, the rest as ARMCI_PutV. */
int ARMCI_AccV(int op, void *scale, armci_giov_t *darr, int len, int proc);

/* Put v to dst at proc. FAIL5, FAIL6. */
int ARMCI_PutValueInt(int v, void *dst, int proc);
/* As ARMCI_PutValueInt, of a long. */
int ARMCI_PutValueLong(long v, void *dst, int proc);
/* As ARMCI_PutValueInt, of a float. */
int ARMCI_PutValueFloat(float v, void *dst, int proc);
/* As ARMCI_PutValueInt, of a double. */
int ARMCI_PutValueDouble(double v, void *dst, int proc);
/* The int at src of proc. There is no room for an error: one ends the job. */
int ARMCI_GetValueInt(void *src, int proc);
/* As ARMCI_GetValueInt, of a long. */
long ARMCI_GetValueLong(void *src, int proc);
/* As ARMCI_GetValueInt, of a float. */
float ARMCI_GetValueFloat(void *src, int proc);
/* As ARMCI_GetValueInt, of a double. */
double ARMCI_GetValueDouble(void *src, int proc);

/*
 * ---- non-blocking: return when started; arguments as for the blocking forms. A NULL handle is the implicit one,
 * completed by WaitProc, WaitAll and fences. One handle may stand for several operations of one kind. Strides, counts,
 * scale and descriptors are read during the call, data until local completion. ----
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
/* Start an ARMCI_PutValueInt; v is read at once, also into an aggregate handle. */
int ARMCI_NbPutValueInt(int v, void *dst, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueLong; v is read at once. */
int ARMCI_NbPutValueLong(long v, void *dst, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueFloat; v is read at once. */
int ARMCI_NbPutValueFloat(float v, void *dst, int proc, armci_hdl_t *h);
/* Start an ARMCI_PutValueDouble; v is read at once. */
int ARMCI_NbPutValueDouble(double v, void *dst, int proc, armci_hdl_t *h);

/* Make *h a handle with nothing pending. Waits for nothing: what it stood for goes on without it. */
void ARMCI_INIT_HANDLE(armci_hdl_t *h);
/*
 * From now on transfers with h, of one direction and to one process, are collected and sent as one, at the latest by Wait
 * or Test; sources of puts are read as late as that. Others go on their own.
 */
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *h);
/* Wait for what h collected; from now on it is an ordinary handle. */
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *h);
/* Local completion of every operation started with the handle; nothing pending, or NULL: at once. 0 or FAIL6. */
int ARMCI_Wait(armci_hdl_t *h);
/* 0 when complete (then as after Wait), negative (FAIL6) when one of them failed, 1 while pending. */
int ARMCI_Test(armci_hdl_t *h);
/* Local completion of all operations to proc. 0, FAIL5, or FAIL6: one without a handle failed since the last wait. */
int ARMCI_WaitProc(int proc);
/* Local completion of all operations, those with handles too. 0, or FAIL6 as ARMCI_WaitProc. */
int ARMCI_WaitAll(void);

/* ---- fences, read-modify-write, mutexes ---- */

/* Remote completion of everything this process started to proc, unless that died; no message. No such process: the job ends. */
void ARMCI_Fence(int proc);
/* As ARMCI_Fence to every process. */
void ARMCI_AllFence(void);
/* As ARMCI_Fence to every member of the group (NULL: every process). */
void ARMCI_GroupFence(ARMCI_Group *group);
/* ARMCI_AllFence and a barrier over all processes. Collective. */
void ARMCI_Barrier(void);
/*
 * Atomic fetch-and-add (of extra) or swap on the int or long at prem of proc, by op, an ARMCI_SWAP or ARMCI_FETCH_AND_ADD
 * code; *ploc gets the old value, and gives the new one for swap. prem naturally aligned, else the job ends. In order with
 * this process's other operations to that word. FAIL, FAIL5, FAIL6.
 */
int ARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc);
/*
 * Collective; num (0 and more) mutexes hosted here. Mutex m of process p is (m, p). One set at a time: a second one ends
 * the job. 0 or FAIL6.
 */
int ARMCI_Create_mutexes(int num);
/* Collective. 0, or FAIL6: a member died; they go with ARMCI_Finalize. */
int ARMCI_Destroy_mutexes(void);
/*
 * Wait for the mutex; first come, first served; not recursive. One that does not exist ends the job. If proc dies the
 * call returns without it (a line on stderr; ARMCIX_Is_dead): nobody gets it any more. If its holder dies the next gets it.
 */
void ARMCI_Lock(int mutex, int proc);
/* Complete the caller's writes to all targets, then give the mutex on. One that the caller does not hold stays as it is: a
 * line on stderr of proc says so. */
void ARMCI_Unlock(int mutex, int proc);

/* ---- groups: rank lists and ranks are int; a handle is small and may be copied ---- */

/*
 * Collective over the default group. pid_list: n ranks in it, entry i becomes rank i; n may be 0. Different processes may
 * name different, disjoint lists. A process that is not in its list gets a group of size 0 in which its rank is negative;
 * so does who is in one with a process that died (a line on stderr names it): calls with that group fail and change
 * nothing. If it dies meanwhile some may get a group, in which collectives fail: make no others under that (those who
 * have it may wait for those who do not), but from the world, by this call.
 */
void ARMCI_Group_create(int n, int *pid_list, ARMCI_Group *out);
/* As ARMCI_Group_create, collective over parent, with ranks in parent. */
void ARMCI_Group_create_child(int n, int *pid_list, ARMCI_Group *out, ARMCI_Group *parent);
/* By its members, collectively (others may); ends every copy of the handle. The world stays. */
void ARMCI_Group_free(ARMCI_Group *group);
/* 0 and the caller's rank, or non-zero and a negative rank where it is no member. */
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
/* Members; 0 where the caller is none. */
void ARMCI_Group_size(ARMCI_Group *group, int *size);
/* The parent of ARMCI_Group_create from now on, nothing else. Local. */
void ARMCI_Group_set_default(ARMCI_Group *group);
/* The parent of ARMCI_Group_create. */
void ARMCI_Group_get_default(ARMCI_Group *out);
/* The group of all processes. */
void ARMCI_Group_get_world(ARMCI_Group *out);
/* World rank of a group's rank, -1 where there is none. */
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);
/* Non-zero if memory of the group is shared within a domain. */
int ARMCI_Uses_shm_grp(ARMCI_Group *group);
#ifdef ARMCI_HAVE_MPI_H
/* The library's communicator of the group, same ranks; MPI_COMM_NULL at others, or where there is no MPI. */
MPI_Comm armci_group_comm(ARMCI_Group *group);
/* As ARMCI_Init_thread; comm must hold all processes in the order of MPI_COMM_WORLD, else FAIL6. */
int ARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
/* As ARMCI_Init; comm as for ARMCI_Init_thread_comm. */
int ARMCI_Init_mpi_comm(MPI_Comm comm);
/* ARMCI_Init_thread_comm, for a profiler to call. */
int PARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
/* ARMCI_Init_mpi_comm, for a profiler to call. */
int PARMCI_Init_mpi_comm(MPI_Comm comm);
#endif

/* ---- locality; domain is ARMCI_DOMAIN_SMP: runs of consecutive ranks that load and store each other's memory ---- */

/* Processes in domain id (-1: my own). */
int armci_domain_nprocs(armci_domain_t domain, int id);
/* The domain of a process. */
int armci_domain_id(armci_domain_t domain, int world_rank);
/* World rank of the local_id-th (from 0) process of domain id. */
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int local_id);
/* The caller's domain. */
int armci_domain_my_id(armci_domain_t domain);
/* How many domains there are. */
int armci_domain_count(armci_domain_t domain);
/* Non-zero if that process is of the caller's domain. */
int armci_domain_same_id(armci_domain_t domain, int world_rank);
/* As armci_domain_same_id. */
int ARMCI_Same_node(int world_rank);
/* As armci_domain_same_id. */
int armci_sameclusnode(int world_rank);
/* Non-zero if memory is shared within a domain. */
int ARMCI_Uses_shm(void);
/* Bytes of shared memory from which this process warns, once. May come before ARMCI_Init. */
void ARMCI_Set_shm_limit(unsigned long bytes);

/* ---- direct access, notification ---- */

/* Before loads and stores of own memory at ptr: what others wrote and was synchronised is seen. */
void ARMCI_Access_begin(void *ptr);
/* Behind them: others that synchronise see what was stored. */
void ARMCI_Access_end(void *ptr);
/* Tell proc, behind all earlier writes to it; how often it was told by this process, or FAIL6: it died. No such process: the job ends. */
int armci_notify(int proc);
/* Wait to be told by proc once more: *pval (may be NULL) how often waited, returns how often told; FAIL6: proc died. */
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
int PARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group, const char *device);
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
