/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node knows of itself and its partition. docs/hardware.md 1.4. */
#ifndef QT_FIRMWARE_INCLUDE_PERSONALITY_H
#define QT_FIRMWARE_INCLUDE_PERSONALITY_H

#include "hwi/include/common/bgq_bitnumbers.h"
#include "hwi/include/common/compiler_support.h"

#define PERSONALITY_VERSION 8

typedef struct Personality_Kernel {
	uint64_t UCI, NodeConfig, TraceConfig;
	uint32_t RASPolicy;
	uint32_t FreqMHz; /* 1600 */
	uint64_t ClockStop;
} Personality_Kernel_t;

typedef struct Personality_DDR {
	uint32_t DDRFlags;
	uint32_t DDRSizeMB; /* 16384 */
} Personality_DDR_t;

struct PrimordialClassRoute {
	uint16_t GlobIntUpPortInputs, GlobIntUpPortOutputs;
	uint16_t CollectiveTypeAndUpPortInputs, CollectiveUpPortOutputs;
};

typedef struct Personality_Networks {
	uint32_t BlockID;
	uint64_t NetFlags; /* ND_ENABLE_TORUS_DIM_ bits */
	uint64_t NetFlags2;
	uint8_t Anodes, Bnodes, Cnodes, Dnodes, Enodes;
	uint8_t Acoord, Bcoord, Ccoord, Dcoord, Ecoord;
	struct PrimordialClassRoute PrimordialClassRoute;
	uint32_t ZoneRoutingMasks[4];
	uint64_t MuFlags;
	uint8_t cnBridge_A, cnBridge_B, cnBridge_C, cnBridge_D, cnBridge_E;
	uint32_t latencyFromRoot;
} Personality_Networks_t;

typedef struct Personality_Ethernet {
	uint8_t SecurityKey[32];
} Personality_Ethernet_t;

typedef struct Personality {
	uint16_t CRC;
	uint8_t Version, PersonalitySizeWords;
	Personality_Kernel_t Kernel_Config;
	Personality_DDR_t DDR_Config;
	Personality_Networks_t Network_Config;
	Personality_Ethernet_t Ethernet_Config;
} Personality_t;

/* d: 0 .. 4 for A .. E. */
#define ND_ENABLE_TORUS(d)     _BN(20 + (d))
#define ND_ENABLE_TORUS_DIM_A  ND_ENABLE_TORUS(0)
#define ND_ENABLE_TORUS_DIM_B  ND_ENABLE_TORUS(1)
#define ND_ENABLE_TORUS_DIM_C  ND_ENABLE_TORUS(2)
#define ND_ENABLE_TORUS_DIM_D  ND_ENABLE_TORUS(3)
#define ND_ENABLE_TORUS_DIM_E  ND_ENABLE_TORUS(4)
#define ND_GET_TORUS(d, flags) (((flags)&ND_ENABLE_TORUS(d)) != 0)
#define ND_TORUS_SIZE(net)                                                                         \
	((net).Anodes * (net).Bnodes * (net).Cnodes * (net).Dnodes * (net).Enodes)

#endif
