package dfa

// A sparse set has constant-time add, has and clear: Briggs and Torczon, An Efficient
// Representation for Sparse Sets, 1993.
type sparse struct {
	at    []uint32
	dense []uint32
}

func newSparse(n int) sparse { return sparse{at: make([]uint32, n), dense: make([]uint32, 0, n)} }

func (s *sparse) clear() { s.dense = s.dense[:0] }

func (s *sparse) has(x uint32) bool {
	i := s.at[x]
	return int(i) < len(s.dense) && s.dense[i] == x
}

// add adds x, and reports whether it was missing.
func (s *sparse) add(x uint32) bool {
	if s.has(x) {
		return false
	}
	s.at[x] = uint32(len(s.dense))
	s.dense = append(s.dense, x)
	return true
}
