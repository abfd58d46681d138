package node

import (
	"strings"
	"testing"
)

func TestOffersOfCDIDevicesAreRead(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  []CDIOffer
		fault string
	}{
		{nil, nil, ""},
		{[]string{"nvidia.com/gpu"}, []CDIOffer{{"nvidia.com/gpu", "nvidia.com/gpu", 1}}, ""},
		{[]string{"nvidia.com/gpu:as=example.com/part:shares=4", "amd.com/gpu"},
			[]CDIOffer{{"nvidia.com/gpu", "example.com/part", 4}, {"amd.com/gpu", "amd.com/gpu", 1}}, ""},
		{[]string{"gpu"}, nil, `"gpu" is not of the form vendor.com/class`},
		{[]string{"a.com/b/c"}, nil, "is not of the form vendor.com/class"},
		{[]string{"a.com/"}, nil, "is not of the form vendor.com/class"},
		{[]string{"a.com/b:shares=0"}, nil, `shares is a number from 1 to 1000, not "0"`},
		{[]string{"a.com/b:shares=many"}, nil, `not "many"`},
		{[]string{"a.com/b:share=2"}, nil, `"share=2" means nothing`},
		{[]string{"a.com/b:as=cpu"}, nil, `pods cannot ask for resource "cpu"; name another with as=vendor.com/name`},
		{[]string{"a.com/b:as=kubernetes.io/x"}, nil, "pods cannot ask for resource"},
		{[]string{"a.com/b", "a.com/c:as=a.com/b"}, nil, "resource a.com/b is offered already"},
		{[]string{"a.com/b", "a.com/b:as=a.com/c"}, nil, "kind a.com/b is offered already"},
	} {
		got, err := ParseCDIOffers(c.texts)
		switch {
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%q: got %v, want %q", c.texts, err, c.fault)
		case c.fault == "" && (err != nil || len(got) != len(c.want)):
			t.Errorf("%q: got %+v, %v", c.texts, got, err)
		case c.fault == "":
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%q: got %+v, want %+v", c.texts, got[i], c.want[i])
				}
			}
		}
	}
}
