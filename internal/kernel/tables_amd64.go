//go:build !purego

package kernel

// Tables that the assembly reads.
var (
	// lowLanes[n] selects the lower n of 8 lanes.
	lowLanes [9][8]int32
	// shiftWords[n] moves the upper n of 8 words down to lanes 0 to n-1 and clears the others (for VPSHUFB).
	shiftWords [8][16]byte
)

func init() {
	for n := range lowLanes {
		for l := range n {
			lowLanes[n][l] = -1
		}
	}
	for n := range shiftWords {
		for b := range shiftWords[n] {
			shiftWords[n][b] = 0x80
			if b < 2*n {
				shiftWords[n][b] = byte(16 - 2*n + b)
			}
		}
	}
}

// panelLanes[n] selects the first n of 16 outputs.
var panelLanes [17][16]int32

func init() {
	for n := range panelLanes {
		for l := range n {
			panelLanes[n][l] = -1
		}
	}
}
