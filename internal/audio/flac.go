package audio

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"hash"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
)

const (
	// flacBlocksPerSecond makes a block of 80 ms, one frame of the codec: at the
	// stream's own rate nothing is held back. 1,920 samples are enough to pay for a
	// predictor, and up to 48,000 Hz the block stays within the streamable subset.
	flacBlocksPerSecond = 12.5
	// maxFLACBlock is the subset's bound of higher rates.
	maxFLACBlock = 16384
	// maxFLACRate is the highest rate that the header holds.
	maxFLACRate = 655350
)

// flacCoder makes a FLAC stream: 16 bits, mono, blocks of equal size. The library
// writes headers and bits; how a block is predicted is decided in flac_predict.go.
type flacCoder struct {
	encoder *flac.Encoder
	out     bytes.Buffer // of the encoder
	info    meta.StreamInfo
	block   []int32 // samples of the block that is being filled
	fitter  predictor
	bytes   []byte // scratch of the checksum
	sum     hash.Hash
	written uint64 // samples in blocks
}

func newFLACCoder(rate int) (*flacCoder, error) {
	if rate > maxFLACRate {
		return nil, fmt.Errorf("audio: flac at %d Hz, allowed is %d to %d", rate, minRate, maxFLACRate)
	}
	size := min(int(float64(rate)/flacBlocksPerSecond), maxFLACBlock)
	c := &flacCoder{block: make([]int32, 0, size), sum: md5.New()}
	c.info = meta.StreamInfo{BlockSizeMin: uint16(size), BlockSizeMax: uint16(size), SampleRate: uint32(rate), NChannels: 1, BitsPerSample: 16}
	return c, nil
}

func (c *flacCoder) write(dst []byte, samples []float32) ([]byte, error) {
	var err error
	if c.bytes, err = AppendPCM16(c.bytes[:0], samples); err != nil {
		return dst, err
	}
	c.sum.Write(c.bytes)
	for len(samples) > 0 {
		n := min(len(samples), cap(c.block)-len(c.block))
		for _, x := range samples[:n] {
			c.block = append(c.block, int32(toPCM16(x)))
		}
		samples = samples[n:]
		if len(c.block) == cap(c.block) {
			if dst, err = c.writeBlock(dst); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

func (c *flacCoder) end(dst []byte) ([]byte, error) {
	if len(c.block) > 0 {
		return c.writeBlock(dst)
	}
	return dst, c.begin(&dst)
}

// begin makes the encoder, if there is none yet, and appends its header: total and
// checksum are unknown.
func (c *flacCoder) begin(dst *[]byte) error {
	if c.encoder != nil {
		return nil
	}
	info := c.info // the encoder keeps what it is given
	encoder, err := flac.NewEncoder(&c.out, &info)
	if err != nil {
		return fmt.Errorf("flac: %w", err)
	}
	encoder.EnablePredictionAnalysis(false)
	c.encoder = encoder
	*dst = c.take(*dst)
	return nil
}

// take appends what the encoder has written.
func (c *flacCoder) take(dst []byte) []byte {
	dst = append(dst, c.out.Bytes()...)
	c.out.Reset()
	return dst
}

// writeBlock appends the block, full or the last.
func (c *flacCoder) writeBlock(dst []byte) ([]byte, error) {
	if err := c.begin(&dst); err != nil {
		return dst, err
	}
	f := &frame.Frame{
		Header: frame.Header{
			HasFixedBlockSize: true, BlockSize: uint16(len(c.block)), SampleRate: frameRate(c.info.SampleRate),
			Channels: frame.ChannelsMono, BitsPerSample: 16,
		},
		Subframes: []*frame.Subframe{{SubHeader: c.fitter.fit(c.block), Samples: c.block, NSamples: len(c.block)}},
	}
	if err := c.encoder.WriteFrame(f); err != nil {
		return dst, fmt.Errorf("flac: %w", err)
	}
	size := uint32(c.out.Len())
	if c.written == 0 {
		c.info.FrameSizeMin = size
	}
	c.info.FrameSizeMin, c.info.FrameSizeMax = min(c.info.FrameSizeMin, size), max(c.info.FrameSizeMax, size)
	c.written += uint64(len(c.block))
	c.block = c.block[:0]
	return c.take(dst), nil
}

// frameRate is the rate in the header of a block: 0, which refers to the beginning of
// the stream, for rates that it cannot hold.
func frameRate(rate uint32) uint32 {
	if rate > 65535 && rate%10 != 0 {
		return 0
	}
	return rate
}

// header is the beginning of a finished file.
func (c *flacCoder) header() ([]byte, error) {
	c.info.NSamples = c.written
	copy(c.info.MD5sum[:], c.sum.Sum(nil))
	var out bytes.Buffer
	if _, err := flac.NewEncoder(&out, &c.info); err != nil {
		return nil, fmt.Errorf("flac: %w", err)
	}
	return out.Bytes(), nil
}
