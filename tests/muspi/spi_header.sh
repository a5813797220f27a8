#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each installed header of the MU compiles alone, as C (two dialects) and as C++ (two), with the flags that
# pkg-config gives; and three of them bring all that programs use.
set -u
export PKG_CONFIG_PATH=$QT_BUILD/meson-uninstalled
flags=$(pkg-config --cflags libmuspi) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

compile() # NAME, with the source on stdin
{
	cat >"$dir/x.c"
	cp "$dir/x.c" "$dir/x.cc"
	# shellcheck disable=SC2086
	{
		cc -std=c99 -Wall -Wextra -Werror $flags -c "$dir/x.c" -o "$dir/x.o" &&
			cc -std=gnu89 -Werror $flags -c "$dir/x.c" -o "$dir/x.o" &&
			c++ -Wall -Wextra -Werror $flags -c "$dir/x.cc" -o "$dir/x.o" &&
			c++ -std=c++20 -Wall -Wextra -Werror $flags -fsyntax-only "$dir/x.cc"
	} || {
		echo "$1 does not compile"
		bad=1
	}
}

for f in $(cd "$QT_SOURCE/muspi/include" && find . -name '*.h' | sed 's|^\./||'); do
	printf '#include <%s>\nint x;\n' "$f" | compile "$f"
done
compile "three headers" <<'END'
#include <kernel/MU.h>
#include <mu/InjFifo.h>
#include <mu/GIBarrier.h>

#define SIZE(type, n) typedef char type##_size[sizeof(type) == (n) ? 1 : -1]
SIZE(MUSPI_InjFifoSubGroup_t, 720);
SIZE(MUSPI_BaseAddressTableSubGroup_t, 80);
SIZE(MUSPI_RecFifoSubGroup_t, 2464);
SIZE(MUSPI_GIBarrier_t, 32);
SIZE(Kernel_MemoryRegion_t, 24);
SIZE(MUSPI_BaseDescriptorInfoFields_t, 40);
SIZE(MUSPI_Pt2PtDescriptorInfoFields_t, 6);
SIZE(MUSPI_CollectiveDescriptorInfoFields_t, 8);
SIZE(MUSPI_MemoryFIFODescriptorInfoFields_t, 40);
SIZE(MUSPI_DirectPutDescriptorInfoFields_t, 40);
SIZE(MUSPI_RemoteGetDescriptorInfoFields_t, 4);
SIZE(BG_CoordinateMapping_t, 4);
SIZE(BG_JobCoords_t, 13);
SIZE(CR_RECT_T, 40);

uint64_t f(MUHWI_Destination_t *to, MUSPI_BaseAddressTableSubGroup_t *bat)
{
	Personality_t p;
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info;
	MUHWI_Descriptor_t d;

	Kernel_GetPersonality(&p, sizeof p);
	memset(&info, 0, sizeof info);
	MUSPI_SetUpDestination(to, 0, 0, 0, 0, 0);
	MUSPI_CreatePt2PtDirectPutDescriptor(&d, &info);
	return GetTimeBase() + (uint64_t)MUSPI_SetBaseAddress(bat, 0, 0) + (uint64_t)errno + quintorus_mu_refused("map_empty");
}
END
printf '#include <spi/include/mu/DescriptorWrapperXX.h>
#ifdef __cplusplus
int f(MUSPI_Pt2PtMemoryFIFODescriptorInfo_t *i)
{
	MUSPI_Pt2PtMemoryFIFODescriptor d(i);

	d.setRecFIFOId(3);
	return d.Message_Length == 0;
}
#else
int x;
#endif
' | compile "classes"
# The classes make the descriptors that the functions make, and their methods are the setters.
cat >"$dir/classes.cc" <<'END'
#include <cstdlib>
#include <spi/include/mu/DescriptorWrapperXX.h>

static bool is_equal(const void *a, const void *b) { return !memcmp(a, b, 64); }

#define MAKES(type, create_it) \
	{ \
		type##Info_t info; \
		MUHWI_Descriptor_t d; \
		memset((void *)&info, 0x25, sizeof info); \
		create_it(&d, &info); \
		type made(&info), later; \
		if (!is_equal(&made, &d) || is_equal(&later, &d)) \
			return 1; \
		if (later.create(&info) || !is_equal(later.getDescriptor(), &d)) \
			return 2; \
	}
#define SETS(method, function, ...) \
	{ \
		MUSPI_DescriptorBase x; \
		MUHWI_Descriptor_t d; \
		MUSPI_DescriptorZeroOut(&d); \
		x.method(__VA_ARGS__); \
		function(&d, __VA_ARGS__); \
		if (!is_equal(&x, &d)) \
			return 3; \
	}
int main()
{
	uint8_t bytes[14] = {1, 2, 3};

	MAKES(MUSPI_Pt2PtMemoryFIFODescriptor, MUSPI_CreatePt2PtMemoryFIFODescriptor)
	MAKES(MUSPI_Pt2PtDirectPutDescriptor, MUSPI_CreatePt2PtDirectPutDescriptor)
	MAKES(MUSPI_Pt2PtRemoteGetDescriptor, MUSPI_CreatePt2PtRemoteGetDescriptor)
	MAKES(MUSPI_CollectiveMemoryFIFODescriptor, MUSPI_CreateCollectiveMemoryFIFODescriptor)
	MAKES(MUSPI_CollectiveDirectPutDescriptor, MUSPI_CreateCollectiveDirectPutDescriptor)
	MAKES(MUSPI_CollectiveRemoteGetDescriptor, MUSPI_CreateCollectiveRemoteGetDescriptor)
	SETS(setPayload, MUSPI_SetPayload, 3, 4)
	SETS(setHints, MUSPI_SetHints, 0x80, 0x40)
	SETS(setRouting, MUSPI_SetRouting, 4)
	SETS(setZoneRouting, MUSPI_SetZoneRouting, 8)
	SETS(setOpCode, MUSPI_SetOpCode, 0x40)
	SETS(setRecPutOffset, MUSPI_SetRecPutOffset, 1ull << 36)
	SETS(setSoftwareBytes, MUSPI_SetSoftwareBytes, bytes)
	SETS(setRecCounterBaseAddressInfo, MUSPI_SetRecCounterBaseAddressInfo, 7, 64)
	SETS(setRemoteGetInjFIFOId, MUSPI_SetRemoteGetInjFIFOId, 9)
	return 0;
}
END
# shellcheck disable=SC2086
c++ -Wall -Wextra -Werror $flags "$dir/classes.cc" -o "$dir/classes" && "$dir/classes" || {
	echo "the classes make other descriptors than the functions: status $?"
	bad=1
}
exit $bad
