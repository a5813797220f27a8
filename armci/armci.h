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

/* Collective; later calls only count. 0, or FAIL6 with the cause on stderr. */
int ARMCI_Init(void);
/* argc and argv may be NULL and are not modified. */
int ARMCI_Init_args(int *argc, char ***argv);
int ARMCI_Init_thread(int mpi_thread_level);
int ARMCI_Initialized(void);
/* Collective; the call that matches the first Init fences, waits for all, releases; more are ignored. */
int ARMCI_Finalize(void);
void ARMCI_Cleanup(void);
/* Print rank, message and code to stderr and end the job with a non-zero status. Does not return. */
void ARMCI_Error(const char *msg, int code);

/* ---- memory ---- */

/*
 * Collective. ptrs  nproc entries; entry i names the part of process i, for transfers by this process
 * only. bytes  wanted here; may be 0 (then the entry is NULL) and may differ between processes. Parts
 * start on 64-byte boundaries and are not cleared. Non-zero at every process where any failed.
 */
int ARMCI_Malloc(void **ptrs, armci_size_t bytes);
/* Collective; ptr is the caller's own entry (NULL where it asked for nothing). Fences first. */
int ARMCI_Free(void *ptr);
/* The same over the members of a group: ptrs by rank in the group; transfers name world ranks. */
int ARMCI_Malloc_group(void **ptrs, armci_size_t bytes, ARMCI_Group *group);
int ARMCI_Free_group(void *ptr, ARMCI_Group *group);
/* The same; every device is ordinary memory. ARMCI_Free_memdev frees what either gave. */
int ARMCI_Malloc_memdev(void **ptrs, armci_size_t bytes, const char *device);
int ARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group, const char *device);
int ARMCI_Free_memdev(void *ptr);
/* Memory of this process alone, registered for transfers; NULL on failure. */
void *ARMCI_Malloc_local(armci_size_t bytes);
int ARMCI_Free_local(void *ptr);
/*
 * Memory of one process, described to others by a copy of *info. memflg 0. Memat: the address to use
 * here (offset counts where the caller is not the creator); call it before the first transfer. Memctl:
 * the creator frees, others forget. Ends the job where there is no memory.
 */
void ARMCI_Memget(size_t bytes, armci_meminfo_t *info, int memflg);
void *ARMCI_Memat(armci_meminfo_t *info, long offset);
void ARMCI_Memdt(armci_meminfo_t *info, long offset);
void ARMCI_Memctl(armci_meminfo_t *info);

/* ---- transfers: src local and dst remote for put and accumulate, the other way round for get ---- */

int ARMCI_Put(void *src, void *dst, int bytes, int proc);
int ARMCI_Get(void *src, void *dst, int bytes, int proc);
/* dst[i] += *scale * src[i], each element atomic against other accumulates; op is an ARMCI_ACC_ code. */
int ARMCI_Acc(int op, void *scale, void *src, void *dst, int bytes, int proc);

/*
 * Strided: count[0] bytes in a segment, count[k] repetitions at level k; stride_ar[k] bytes between the
 * starts of two items of level k + 1, any sign. stride_levels 0 .. ARMCI_MAX_STRIDE_LEVEL.
 */
int ARMCI_PutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
	       int stride_levels, int proc);
int ARMCI_GetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
	       int stride_levels, int proc);
int ARMCI_AccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
	       int *count, int stride_levels, int proc);
void ARMCI_Copy(void *src, void *dst, int bytes);
/* A local copy that ignores p; value 0. */
#define ARMCI_Put1(s, d, b, p) (ARMCI_Copy((s), (d), (b)), 0)
/* Pack the patch at ptr into buf, and unpack buf into the patch at ptr. Local. */
void armci_write_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf);
void armci_read_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf);

/* A put, then value to the int at flag, which the target never sees before the data. */
int ARMCI_Put_flag(void *src, void *dst, int bytes, int *flag, int value, int proc);
int ARMCI_PutS_flag(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		    int stride_levels, int *flag, int value, int proc);
int ARMCI_PutS_flag_dir(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
			int stride_levels, int *flag, int value, int proc);

int ARMCI_PutV(armci_giov_t *darr, int len, int proc);
int ARMCI_GetV(armci_giov_t *darr, int len, int proc);
int ARMCI_AccV(int op, void *scale, armci_giov_t *darr, int len, int proc);

int ARMCI_PutValueInt(int v, void *dst, int proc);
int ARMCI_PutValueLong(long v, void *dst, int proc);
int ARMCI_PutValueFloat(float v, void *dst, int proc);
int ARMCI_PutValueDouble(double v, void *dst, int proc);
int ARMCI_GetValueInt(void *src, int proc);
long ARMCI_GetValueLong(void *src, int proc);
float ARMCI_GetValueFloat(void *src, int proc);
double ARMCI_GetValueDouble(void *src, int proc);

/* ---- non-blocking: a NULL handle is the implicit one, completed by WaitProc, WaitAll and fences ----
 */

int ARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
int ARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
int ARMCI_NbAcc(int op, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *h);
int ARMCI_NbPutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		 int stride_levels, int proc, armci_hdl_t *h);
int ARMCI_NbGetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		 int stride_levels, int proc, armci_hdl_t *h);
int ARMCI_NbAccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
		 int *count, int stride_levels, int proc, armci_hdl_t *h);
int ARMCI_NbPutV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
int ARMCI_NbGetV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
int ARMCI_NbAccV(int op, void *scale, armci_giov_t *darr, int len, int proc, armci_hdl_t *h);
int ARMCI_NbPutValueInt(int v, void *dst, int proc, armci_hdl_t *h);
int ARMCI_NbPutValueLong(long v, void *dst, int proc, armci_hdl_t *h);
int ARMCI_NbPutValueFloat(float v, void *dst, int proc, armci_hdl_t *h);
int ARMCI_NbPutValueDouble(double v, void *dst, int proc, armci_hdl_t *h);

void ARMCI_INIT_HANDLE(armci_hdl_t *h);
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *h);
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *h);
/* Local completion of every operation started with the handle. */
int ARMCI_Wait(armci_hdl_t *h);
/* 0 when complete, else non-zero. */
int ARMCI_Test(armci_hdl_t *h);
int ARMCI_WaitProc(int proc);
int ARMCI_WaitAll(void);

/* ---- fences, read-modify-write, mutexes ---- */

/* Remote completion of everything this process started to proc (to all); no message when nothing is. */
void ARMCI_Fence(int proc);
void ARMCI_AllFence(void);
void ARMCI_GroupFence(ARMCI_Group *group);
/* AllFence and a barrier over all processes. */
void ARMCI_Barrier(void);
/* Atomic fetch-and-add and swap; prem is naturally aligned; ploc gets the old value (and gives the new
 * for swap). */
int ARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc);
/* One set at a time; each process says how many it hosts. Mutex m of process p is (m, p). */
int ARMCI_Create_mutexes(int num);
int ARMCI_Destroy_mutexes(void);
/* First come, first served. Unlock completes the caller's writes to all targets first. Not recursive. */
void ARMCI_Lock(int mutex, int proc);
void ARMCI_Unlock(int mutex, int proc);

/* ---- groups ---- */

/*
 * pid_list: ranks in the parent (ARMCI_Group_create: in the default group), entry i becomes rank i.
 * Every member of the parent calls; different processes may name different, disjoint lists. A process
 * that is not in its list gets a group of size 0 in which its rank is negative.
 */
void ARMCI_Group_create(int n, int *pid_list, ARMCI_Group *out);
void ARMCI_Group_create_child(int n, int *pid_list, ARMCI_Group *out, ARMCI_Group *parent);
/* By its members; ends every copy of the handle. The world stays. */
void ARMCI_Group_free(ARMCI_Group *group);
/* 0 and the rank, or non-zero and a negative rank. */
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
void ARMCI_Group_size(ARMCI_Group *group, int *size);
/* The parent of ARMCI_Group_create from now on, nothing else. */
void ARMCI_Group_set_default(ARMCI_Group *group);
void ARMCI_Group_get_default(ARMCI_Group *out);
void ARMCI_Group_get_world(ARMCI_Group *out);
/* World rank of a group's rank, -1 where there is none. */
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);
int ARMCI_Uses_shm_grp(ARMCI_Group *group);
#ifdef ARMCI_HAVE_MPI_H
MPI_Comm armci_group_comm(ARMCI_Group *group);
int ARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
int ARMCI_Init_mpi_comm(MPI_Comm comm);
int PARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
int PARMCI_Init_mpi_comm(MPI_Comm comm);
#endif

/* ---- locality ---- */

/* ARMCI_DOMAIN_SMP: runs of consecutive ranks that load and store each other's memory. id -1: my own. */
int armci_domain_nprocs(armci_domain_t domain, int id);
int armci_domain_id(armci_domain_t domain, int world_rank);
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int local_id);
int armci_domain_my_id(armci_domain_t domain);
int armci_domain_count(armci_domain_t domain);
int armci_domain_same_id(armci_domain_t domain, int world_rank);
int ARMCI_Same_node(int world_rank);
int armci_sameclusnode(int world_rank);
int ARMCI_Uses_shm(void);
void ARMCI_Set_shm_limit(unsigned long bytes);

/* ---- direct access, notification ---- */

void ARMCI_Access_begin(void *ptr);
void ARMCI_Access_end(void *ptr);
/* Tell proc, behind all earlier writes to it; how often it was told. */
int armci_notify(int proc);
/* Wait to be told once more: *pval how often waited, returns how often told. */
int armci_notify_wait(int proc, int *pval);
int parmci_notify(int proc);
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
