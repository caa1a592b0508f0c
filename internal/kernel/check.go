package kernel

import "fmt"

// mustEqual panics if two slices that must be equally long are not.
func mustEqual(kernel, first string, n int, second string, m int) {
	if n != m {
		panic(fmt.Sprintf("kernel: %s: len(%s) = %d, len(%s) = %d, must be equal", kernel, first, n, second, m))
	}
}

// mustHold panics if a slice of n elements does not hold rows rows of width elements, each step elements after the last.
func mustHold(kernel, name string, n, rows, step, width int) {
	if rows < 0 || width < 0 || step < 0 || rows > 0 && (n < width || (rows-1)*step > n-width) {
		panic(fmt.Sprintf("kernel: %s: len(%s) = %d is too short for %d rows of %d, %d apart", kernel, name, n, rows, width, step))
	}
}
