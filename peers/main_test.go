package peers

import (
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/states"
)

func TestMain(m *testing.M) {
	states.ServeMount()
	power.ServeDisk()
	os.Exit(m.Run())
}
