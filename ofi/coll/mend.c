/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that mtl ofi of Open MPI 4.1 gets wrong:
 *
 *   MPI_Ssend to a receive that is too short, or to MPI_Mrecv   never completes: no answer is sent
 *   MPI_Mrecv, MPI_Imrecv into a type with gaps                 the data does not reach the program
 *   MPI_Cancel of a send                                        reads an address that nobody set
 */
#define _GNU_SOURCE
#include "ofi/coll/mend.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/coll/coll.h"
#include "ofi/coll/direct.h"

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_var.h"

/* ---- what is loaded? ---- */

bool mend_is_pml_cm(void)
{
	return !strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name, "cm");
}

static bool is_usual(const char *name)
{
	mca_base_var_source_t source;
	int variable = mca_base_var_find("ompi", "mtl", "ofi", name);

	return variable >= 0 &&
	       mca_base_var_get_value(variable, NULL, &source, NULL) == OPAL_SUCCESS &&
	       source == MCA_BASE_VAR_SOURCE_DEFAULT;
}

bool mend_has_usual_messages(void)
{
	return is_usual("tag_mode") && is_usual("enable_sep");
}

bool mend_stay_loaded(void)
{
	Dl_info self;

	return dladdr((void *)mend_install, &self) &&
	       dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

/* ---- synchronous sends ---- */

void mend_answer(struct ofi_ep *ep, uint32_t source, uint64_t tag)
{
	if (__builtin_expect(tag & TAG_SYNCHRONOUS, 0))
		coll_loan.messages->send_tag(ep, source, tag ^ TAG_SYNCHRONOUS ^ TAG_ACKNOWLEDGES);
}

/* ---- MPI_Mrecv into a type with gaps ---- */

static mca_mtl_base_module_imrecv_fn_t mtl_imrecv;

/* Stands for the program's receive. Mtl ofi receives into its buffer, without gaps. */
struct gapless {
	mca_mtl_request_t super;
	mca_mtl_request_t *wanted;
	opal_convertor_t *convertor; /* of the program's receive */
	opal_convertor_t bytes;
	char buffer[];
};

static void gapless_end(struct gapless *g)
{
	OBJ_DESTRUCT(&g->bytes);
	free(g);
}

static void on_gapless(mca_mtl_request_t *request)
{
	struct gapless *g = (struct gapless *)request;
	ompi_status_public_t *status = &g->wanted->ompi_req->req_status;
	struct iovec data = {g->buffer, status->_ucount};
	uint32_t pieces = 1;
	size_t bytes = status->_ucount;

	if (status->MPI_ERROR == MPI_SUCCESS && bytes &&
	    opal_convertor_unpack(g->convertor, &data, &pieces, &bytes) < 0)
		status->MPI_ERROR = MPI_ERR_INTERN;
	g->wanted->completion_callback(g->wanted);
	gapless_end(g);
}

static int imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
		  struct ompi_message_t **message, struct mca_mtl_request_t *request)
{
	struct gapless *g;
	size_t bytes;
	int rc;

	opal_convertor_get_packed_size(convertor, &bytes);
	if (!bytes || !opal_convertor_need_buffers(convertor))
		return mtl_imrecv(mtl, convertor, message, request);
	g = malloc(sizeof *g + bytes);
	if (!g)
		return OMPI_ERR_OUT_OF_RESOURCE;
	g->super = (mca_mtl_request_t){request->ompi_req, on_gapless};
	g->wanted = request;
	g->convertor = convertor;
	OBJ_CONSTRUCT(&g->bytes, opal_convertor_t);
	rc = opal_convertor_copy_and_prepare_for_recv(ompi_proc_local()->super.proc_convertor,
						      &ompi_mpi_byte.dt.super, bytes, g->buffer, 0,
						      &g->bytes);
	if (rc == OPAL_SUCCESS)
		rc = mtl_imrecv(mtl, &g->bytes, message, &g->super);
	if (rc != OMPI_SUCCESS)
		gapless_end(g);
	return rc;
}

/* ---- MPI_Cancel of a send ---- */

static mca_pml_base_module_isend_fn_t cm_isend;
static mca_pml_base_module_isend_init_fn_t cm_isend_init;

/* MPI lets a send complete as if nobody had cancelled it, and every send is received or ends. */
static int leave_send(ompi_request_t *request, int flag)
{
	return OMPI_SUCCESS;
}

static inline int with_cancel(int rc, ompi_request_t *const *request)
{
	if (rc == OMPI_SUCCESS && (*request)->req_type == OMPI_REQUEST_PML)
		(*request)->req_cancel = leave_send;
	return rc;
}

static int isend(const void *data, size_t count, struct ompi_datatype_t *type, int to, int tag,
		 mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
		 ompi_request_t **request)
{
	return with_cancel(cm_isend(data, count, type, to, tag, mode, comm, request), request);
}

static int isend_init(const void *data, size_t count, struct ompi_datatype_t *type, int to, int tag,
		      mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
		      ompi_request_t **request)
{
	return with_cancel(cm_isend_init(data, count, type, to, tag, mode, comm, request), request);
}

void mend_install(void)
{
	if (mtl_imrecv || !mend_is_pml_cm() || !ompi_mtl || !mend_stay_loaded())
		return;
	mtl_imrecv = ompi_mtl->mtl_imrecv;
	ompi_mtl->mtl_imrecv = imrecv;
	cm_isend = mca_pml.pml_isend;
	mca_pml.pml_isend = isend;
	cm_isend_init = mca_pml.pml_isend_init;
	mca_pml.pml_isend_init = isend_init;
	if (mend_has_usual_messages())
		coll_loan.messages->watch_unanswered(coll_loan.ep, mend_answer);
}
