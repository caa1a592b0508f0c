package codec

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// FrameCost is the cost of decoding one frame by itself, without attention.
func (d *Decoder) FrameCost() nn.Cost {
	c := d.quantizer.first.Cost(1).Add(d.quantizer.rest.Cost(1))
	c = c.Add(d.inProj.Cost(1)).Add(d.stack.Cost(1)).Add(d.outProj.Cost(1)).Add(d.preConv.cost(1))
	rows := 1
	for i := range d.upsample {
		u := &d.upsample[i]
		c = c.Add(u.up.cost(rows))
		rows *= u.up.stride
		depthwise := u.depthwise.cost(rows)
		depthwise.MACs /= int64(u.depthwise.in) // an output sees one channel
		c = c.Add(depthwise).Add(u.pw1.Cost(rows)).Add(u.pw2.Cost(rows))
	}
	c = c.Add(d.entry.cost(rows))
	for i := range d.blocks {
		b := &d.blocks[i]
		c = c.Add(b.up.cost(rows))
		rows *= b.up.stride
		for j := range b.units {
			c = c.Add(b.units[j].conv1.cost(rows)).Add(b.units[j].conv2.cost(rows))
		}
	}
	return c.Add(d.out.cost(rows))
}

// cost is that of so many input rows.
func (c *conv) cost(rows int) nn.Cost {
	products := rows * c.taps // of an input row and the weights of a tap
	if c.points != nil {
		tiles, covered := c.frameTiles()
		products = rows / c.rate * (tiles*kernel.WinogradPoints + (c.rate-covered)*c.taps)
	}
	return nn.Cost{
		Bytes: c.bytes() + 4*int64(len(c.bias)),
		MACs:  int64(products) * int64(c.in) * int64(c.outs),
	}
}
