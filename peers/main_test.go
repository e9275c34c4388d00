package peers

import (
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/states/mount"
)

func TestMain(m *testing.M) {
	mount.Serve()
	power.ServeDisk()
	os.Exit(m.Run())
}
