package server_test

import (
	"testing"

	"github.com/stele-go/stele/proofs/internal/prove"
)

func TestMain(m *testing.M) { prove.Main(m) }
