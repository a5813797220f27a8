/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor as a class: the setters of Descriptor_inlines.h as methods. */
#ifndef QT_SPI_INCLUDE_MU_DESCRIPTORBASEXX_H
#define QT_SPI_INCLUDE_MU_DESCRIPTORBASEXX_H

#ifdef __cplusplus

#include "spi/include/mu/Descriptor_inlines.h"

class MUSPI_DescriptorBase : public MUHWI_Descriptor
{
      public:
	MUSPI_DescriptorBase() { MUSPI_DescriptorZeroOut(this); }
	MUHWI_Descriptor_t *getDescriptor() { return this; }
	void zeroOut() { MUSPI_DescriptorZeroOut(this); }
	void dumpHex(const char *title)
	{
		MUSPI_DescriptorDumpHex(const_cast<char *>(title), this);
	}
	void setDataPacketType(uint8_t v) { MUSPI_SetDataPacketType(this, v); }
	void setMessageUnitPacketType(uint8_t v) { MUSPI_SetMessageUnitPacketType(this, v); }
	void setPrefetchOnly(uint32_t v) { MUSPI_SetPrefetchOnly(this, v); }
	void setSize() { MUSPI_SetSize(this); }
	void setPayload(uint64_t pa, uint64_t bytes) { MUSPI_SetPayload(this, pa, bytes); }
	void setTorusInjectionFIFOMap(uint64_t v) { MUSPI_SetTorusInjectionFIFOMap(this, v); }
	void setDestination(MUHWI_Destination_t v) { MUSPI_SetDestination(this, v); }
	void setBaseFields(MUSPI_BaseDescriptorInfoFields_t *f) { MUSPI_SetBaseFields(this, f); }
	void setHintsABCD(uint8_t v) { MUSPI_SetHintsABCD(this, v); }
	void setHints(uint8_t abcd, uint8_t e) { MUSPI_SetHints(this, abcd, e); }
	void setPt2PtMisc1(uint8_t v) { MUSPI_SetPt2PtMisc1(this, v); }
	void setRouteToIONode(uint8_t v) { MUSPI_SetRouteToIONode(this, v); }
	void setReturnFromIONode(uint8_t v) { MUSPI_SetReturnFromIONode(this, v); }
	void setRouting(uint8_t v) { MUSPI_SetRouting(this, v); }
	void setDeposit(uint8_t v) { MUSPI_SetDeposit(this, v); }
	void setPt2PtMisc2(uint8_t v) { MUSPI_SetPt2PtMisc2(this, v); }
	void setPt2PtVirtualChannel(uint8_t v) { MUSPI_SetPt2PtVirtualChannel(this, v); }
	void setZoneRouting(uint8_t v) { MUSPI_SetZoneRouting(this, v); }
	void setStayOnBubble(uint8_t v) { MUSPI_SetStayOnBubble(this, v); }
	void setPt2PtSkip(uint16_t v) { MUSPI_SetPt2PtSkip(this, v); }
	void setPt2PtFields(MUSPI_Pt2PtDescriptorInfoFields_t *f) { MUSPI_SetPt2PtFields(this, f); }
	void setOpCode(uint8_t v) { MUSPI_SetOpCode(this, v); }
	void setWordLength(uint16_t bytes) { MUSPI_SetWordLength(this, bytes); }
	void setClassRoute(uint8_t v) { MUSPI_SetClassRoute(this, v); }
	void setCollectiveMisc(uint8_t v) { MUSPI_SetCollectiveMisc(this, v); }
	void setCollectiveVirtualChannel(uint8_t v) { MUSPI_SetCollectiveVirtualChannel(this, v); }
	void setCollectiveType(uint8_t v) { MUSPI_SetCollectiveType(this, v); }
	void setCollectiveSkip(uint16_t v) { MUSPI_SetCollectiveSkip(this, v); }
	void setCollectiveFields(MUSPI_CollectiveDescriptorInfoFields_t *f)
	{
		MUSPI_SetCollectiveFields(this, f);
	}
	void setRecFIFOId(uint16_t v) { MUSPI_SetRecFIFOId(this, v); }
	void setRecPutOffset(uint64_t v) { MUSPI_SetRecPutOffset(this, v); }
	void setInterrupt(uint32_t v) { MUSPI_SetInterrupt(this, v); }
	void setSoftwareBit(uint8_t v) { MUSPI_SetSoftwareBit(this, v); }
	void setSoftwareBytes(uint8_t *v) { MUSPI_SetSoftwareBytes(this, v); }
	void setSoftwareByte(uint8_t index, uint8_t v) { MUSPI_SetSoftwareByte(this, index, v); }
	void setMemoryFIFOFields(MUSPI_MemoryFIFODescriptorInfoFields_t *f)
	{
		MUSPI_SetMemoryFIFOFields(this, f);
	}
	void setRecPayloadBaseAddressInfo(uint16_t id, uint64_t offset)
	{
		MUSPI_SetRecPayloadBaseAddressInfo(this, id, offset);
	}
	void setRecCounterBaseAddressInfo(uint16_t id, uint64_t offset)
	{
		MUSPI_SetRecCounterBaseAddressInfo(this, id, offset);
	}
	void setPacing(uint8_t v) { MUSPI_SetPacing(this, v); }
	void setDirectPutFields(MUSPI_DirectPutDescriptorInfoFields_t *f)
	{
		MUSPI_SetDirectPutFields(this, f);
	}
	void setRemoteGetInjFIFOId(uint16_t v) { MUSPI_SetRemoteGetInjFIFOId(this, v); }
	void setRemoteGetFields(MUSPI_RemoteGetDescriptorInfoFields_t *f)
	{
		MUSPI_SetRemoteGetFields(this, f);
	}
};

#endif

#endif
