// The assembler knows the dot products of AVX-VNNI in their AVX-512 form alone. DPBUSD and DPWSSD write the VEX form, three registers by
// number: acc += a * b, four unsigned bytes of a by four signed ones of b, or two words by two, in each lane of 32 bits.

#define VEXDP(opcode, a, b, acc) \
	BYTE $0xC4; \
	BYTE $(((1-acc/8)<<7)|0x40|((1-b/8)<<5)|0x02); \
	BYTE $(((15-a)<<3)|0x05); \
	BYTE $opcode; \
	BYTE $(0xC0|((acc%8)<<3)|(b%8))

#define DPBUSD(a, b, acc) VEXDP(0x50, a, b, acc)
#define DPWSSD(a, b, acc) VEXDP(0x52, a, b, acc)
