package manifest

import "testing"

func TestAQuantityThatIsNoneIsAnsweredWithOneThatIs(t *testing.T) {
	for _, c := range []struct{ resource, text, want string }{
		{"memory", "64MB", "64M or 64Mi"},
		{"memory", "64mb", "64M or 64Mi"},
		{"memory", "64kb", "64k or 64Ki"},
		{"memory", "64MiB", "64Mi"},
		{"memory", "1,5 gigabytes", "1.5G or 1.5Gi"},
		{"memory", "2 gibibytes", "2Gi"},
		{"memory", "100bytes", "100"},
		{"memory", "10%", "a number of bytes, such as 64M or 64Mi"},
		{"memory", "5 horses", "a number of bytes, such as 64M or 64Mi"},
		{"memory", "lots", "a number of bytes, such as 64M or 64Mi"},
		{"cpu", "half", "a number of CPUs, such as 0.5 or 500m"},
		{"cpu", "2 cores", "2"},
		{"cpu", "0,5", "0.5"},
		{"cpu", "500 millicores", "500m"},
		{"example.com/gpu", "two", "a whole number, such as 2"},
	} {
		got := notQuantity("spec.containers[0].resources.limits["+c.resource+"]", c.text)
		if want := `"` + c.text + `" is not a quantity; write ` + c.want; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
