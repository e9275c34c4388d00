package block

import "github.com/stele-go/stele/logstore/internal/column"

// keptColumns are columns whose memory is kept from block to block. One block may have
// thousands, and the next one few, so release and weight look at no others than those that
// were used since the last release.
type keptColumns struct {
	all     []*column.Column // nil where none was used yet
	weights []int64          // bytes of each, when it was weighed the last time
	sum     int64            // of weights
	used    []uint32         // since the last release
	isUsed  []bool
}

// use returns column i for the caller to open. A new column takes its memory from m.
func (k *keptColumns) use(i int, m *column.Memory) *column.Column {
	for len(k.all) <= i {
		k.all, k.weights, k.isUsed = append(k.all, nil), append(k.weights, 0), append(k.isUsed, false)
	}
	if !k.isUsed[i] {
		k.isUsed[i] = true
		k.used = append(k.used, uint32(i))
	}
	if k.all[i] == nil {
		k.all[i] = column.New(m)
	}
	return k.all[i]
}

// release lets go the values of all columns.
func (k *keptColumns) release() {
	k.weigh()
	for _, i := range k.used {
		k.all[i].Release()
		k.isUsed[i] = false
	}
	k.used = k.used[:0]
}

func (k *keptColumns) weigh() {
	for _, i := range k.used {
		w := k.all[i].Weight()
		k.sum += w - k.weights[i]
		k.weights[i] = w
	}
}

// weight returns about how many bytes of memory are kept.
func (k *keptColumns) weight() int64 {
	k.weigh()
	return k.sum + int64(17*cap(k.all)+4*cap(k.used))
}
