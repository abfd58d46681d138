package assign

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// sharing makes the shares of a pod of words such as "app0=a+b" or "app0@1=c", which should lie near to NUMA node 1.
func sharing(text string) node.Shares {
	made := node.Shares{}
	for _, word := range strings.Fields(text) {
		name, list, _ := strings.Cut(word, "=")
		name, near, _ := strings.Cut(name, "@")
		made[name] = node.Share{Near: near, Devices: map[corev1.ResourceName][]string{gpu: strings.Split(list, "+")}}
	}
	return made
}

func TestAPluginChooses(t *testing.T) {
	for _, c := range []struct {
		name    string
		devices Devices
		others  []node.Shares
		shares  string
		settled string // a container
		asked   string // available/must; empty if there is nothing to choose
		wish    string
		want    string // the shares afterwards; empty if they stay
	}{
		{"all that is free", gpus("a", "b", "c"), nil, "app0=a", "", "a+b+c/", "c", "app0=c"},
		{"a set", gpus("a", "b", "c", "d"), nil, "app0=a+b", "", "a+b+c+d/", "d+b", "app0=b+d"},
		{"what it has", gpus("a", "b"), nil, "app0=a", "", "a+b/", "a", ""},
		{"nothing", gpus("a", "b"), nil, "app0=a", "", "a+b/", "", ""},
		{"too few", gpus("a", "b", "c"), nil, "app0=a+b", "", "a+b+c/", "c", "app0=a+c"},
		{"too many", gpus("a", "b", "c"), nil, "app0=a", "", "a+b+c/", "c+b+a", "app0=c"},
		{"one twice", gpus("a", "b", "c"), nil, "app0=a+b", "", "a+b+c/", "c+c", "app0=a+c"},
		{"one that is not there", gpus("a", "b", "c"), nil, "app0=a", "", "a+b+c/", "x", ""},
		{"one of another pod", gpus("a", "b", "c"), holding("b"), "app0=a", "", "a+c/", "b", ""},
		{"one that is ill", gpus("a", "b!", "c"), nil, "app0=a", "", "a+c/", "b", ""},
		{"there is no other", gpus("a", "b"), holding("b"), "app0=a", "", "", "b", ""},
		{"the resource has gone", nil, nil, "app0=a", "", "", "b", ""},
		{"one of the container beside it", gpus("a", "b", "c"), nil, "app0=a app1=b", "", "a+b+c/", "b", "app0=b app1=a"},
		{"one that a container beside it has been granted", gpus("a", "b", "c"), nil, "app0=a app1=b", "app1", "a+c/", "b", ""},
		{"what an init container shares", gpus("a", "b", "c"), nil, "app0=a+b init0=a", "", "a+b+c/", "c", "app0=b+c init0=c"},
		{"what an init container had must be used again", gpus("a", "b", "c"), nil, "app0=a+b init0=a", "init0", "a+b+c/a", "c", "app0=a+c init0=a"},
		{"all that an init container had", gpus("a", "b", "c"), nil, "app0=a init0=a", "init0", "", "c", ""},
		{"near ones only, if there are more than enough", gpus("a@0", "b@0", "c@1"), nil, "app0@0=a", "", "a+b/", "c", ""},
		{"a near one", gpus("a@0", "b@0", "c@1"), nil, "app0@0=a", "", "a+b/", "b", "app0@0=b"},
		{"others, once all near ones are taken", gpus("a@0", "b@1", "c@1"), nil, "app0@0=a+b", "", "a+b+c/a", "c+b", "app0@0=a+c"},
		{"no exchange that puts another container farther away", gpus("a@0", "b@1", "c@01"), nil, "app0@1=b app1@1=c", "", "b+c/", "c", "app0@1=c app1@1=b"},
		{"nor one that a neighbour would pay for", gpus("a@01", "b@1", "c@0"), nil, "app0@1=b app1@0=a", "", "a+b/", "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, shares, container := &Rules{Devices: c.devices}, sharing(c.shares), "app0"
			if strings.Contains(c.shares, "init0") && c.settled == "" {
				container = "init0"
			}
			choice, ok := rules.Choice(shares, container, gpu, c.others, func(name string) bool { return name == c.settled })
			asked := ""
			if ok {
				asked = strings.Join(choice.Available, "+") + "/" + strings.Join(choice.Must, "+")
			}
			if asked != c.asked {
				t.Fatalf("the plugin is asked for %d of %q, want %q", choice.Size, asked, c.asked)
			}
			if !ok {
				return
			}
			made, changed := rules.Exchange(shares, choice, strings.FieldsFunc(c.wish, func(r rune) bool { return r == '+' }))
			got := ""
			if changed {
				placed := node.Shares{}
				for name, share := range made {
					placed[strings.TrimSuffix(name+"@"+share.Near, "@")] = share
				}
				got = handed(placed)
			}
			if got != c.want {
				t.Errorf("the pod has %q, want %q", got, c.want)
			}
			if before := handed(sharing(c.shares)); !strings.Contains(c.shares, "@") && handed(shares) != before {
				t.Errorf("the shares of the record have changed to %q", handed(shares))
			}
		})
	}
}
