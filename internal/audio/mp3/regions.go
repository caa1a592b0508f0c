package mp3

// regions is how the lines of a granule divide: pairs of big values in up to three
// regions with a table each, quadruples of values up to 1, zeros.
type regions struct {
	pairs, quads int
	table        [3]int
	end          [3]int // of each region, in lines
	count0       int    // bands in regions 0 and 1, less 1 each; only of long blocks
	count1       int
	quadTable    int
	size         int // in bits
}

// regionCounter finds the cheapest regions. sums[f][b] is the packed count of family
// f over all big values below band b; largest[b] is the largest value in band b.
type regionCounter struct {
	long    *[23]int
	split   [4]int // end of region 0 by block kind, where it is not free
	sums    [families][23]uint64
	largest [22]int32
	border  [23]int
	bands   int // that big values reach into
}

func newRegionCounter(f *format) *regionCounter {
	r := &regionCounter{long: f.long}
	r.split = [4]int{startBlock: f.long[8], stopBlock: f.long[8], shortBlock: 3 * f.short[3]}
	return r
}

// count divides magnitudes, all 576.
func (r *regionCounter) count(out *regions, values *[granuleLines]int32, kind blockKind) {
	end := granuleLines
	for end > 0 && values[end-1]|values[end-2] == 0 {
		end -= 2
	}
	big := end
	var packed uint64
	for big >= 4 {
		v := (*[4]int32)(values[big-4:])
		if uint32(v[0]|v[1]|v[2]|v[3]) > 1 {
			break
		}
		packed += quadCounts[v[0]<<3|v[1]<<2|v[2]<<1|v[3]]
		big -= 4
	}
	*out = regions{pairs: big / 2, quads: (end - big) / 4}
	const mask = 1<<packedBits - 1
	out.size = int(packed & mask)
	if second := int(packed >> packedBits); second < out.size {
		out.size, out.quadTable = second, 1
	}
	if kind == longBlock {
		r.sum(values, big)
		r.divide(out, big)
		return
	}
	out.end = [3]int{min(r.split[kind], big), big, big}
	begin := 0
	for i, end := range out.end[:2] {
		table, size := countSpan(values[begin:end])
		out.table[i] = table
		out.size += size
		begin = end
	}
}

// countSpan returns the best table of one span and its bits.
func countSpan(values []int32) (table, size int) {
	var largest int32
	for _, v := range values {
		largest = max(largest, v)
	}
	counts := &packedCounts[family(largest)]
	var packed uint64
	for i := 0; i+1 < len(values); i += 2 {
		packed += counts[min(values[i], 15)<<4|min(values[i+1], 15)]
	}
	return cheapest(packed, largest)
}

// sum fills largest, border and sums for the big values, values[:big].
func (r *regionCounter) sum(values *[granuleLines]int32, big int) {
	r.bands = 0
	top := 0
	for begin := 0; begin < big; r.bands++ {
		end := min(r.long[r.bands+1], big)
		var largest int32
		for _, v := range values[begin:end] {
			largest = max(largest, v)
		}
		r.largest[r.bands] = largest
		top = max(top, family(largest))
		r.border[r.bands+1] = end
		begin = end
	}
	for f := 1; f <= top; f++ {
		counts, sums := &packedCounts[f], &r.sums[f]
		var sum uint64
		for b := range r.bands {
			if family(r.largest[b]) <= f { // else never asked for
				for i := r.border[b]; i < r.border[b+1]; i += 2 {
					sum += counts[min(values[i], 15)<<4|min(values[i+1], 15)]
				}
			}
			sums[b+1] = sum
		}
	}
}

// span returns the best table for the bands from begin to end and its bits.
func (r *regionCounter) span(begin, end int, largest int32) (table, size int) {
	sums := &r.sums[family(largest)]
	return cheapest(sums[end]-sums[begin], largest)
}

// divide finds the best borders of the regions. Region 0 has 1 to 16 bands and region
// 1 has 1 to 8; region 2 has the rest and may be empty.
func (r *regionCounter) divide(out *regions, big int) {
	if big == 0 {
		return
	}
	var lastTable, lastSize [24]int // of region 2 when it begins at a band
	var largest int32
	for b := r.bands - 1; b >= 0; b-- {
		largest = max(largest, r.largest[b])
		lastTable[b], lastSize[b] = r.span(b, r.bands, largest)
	}
	best := 1 << 30
	var largest0 int32
	for a := 1; a <= min(16, r.bands); a++ {
		largest0 = max(largest0, r.largest[a-1])
		table0, size0 := r.span(0, a, largest0)
		var largest1 int32
		for b := a + 1; b <= min(a+8, 22); b++ {
			table1, size1 := 0, 0
			if b <= r.bands {
				largest1 = max(largest1, r.largest[b-1])
				table1, size1 = r.span(a, b, largest1)
			} else if b > a+1 {
				break // as good as with region 1 and 2 empty
			}
			if size := size0 + size1 + lastSize[b]; size < best {
				best = size
				out.table = [3]int{table0, table1, lastTable[b]}
				out.end = [3]int{r.border[a], r.border[min(b, r.bands)], big}
				out.count0, out.count1 = a-1, b-a-1
			}
		}
	}
	out.size += best
}
