#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each installed header of the MU compiles alone, as C (two dialects) and as C++, with the flags that
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
			c++ -Wall -Wextra -Werror $flags -c "$dir/x.cc" -o "$dir/x.o"
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
	return GetTimeBase() + (uint64_t)MUSPI_SetBaseAddress(bat, 0, 0) + (uint64_t)errno;
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
exit $bad
