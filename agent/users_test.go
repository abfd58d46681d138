package agent

import (
	"testing"

	"nodal/node/users"
)

func TestPodsUsersAreThoseThatAreSetAside(t *testing.T) {
	const each = 65536
	for _, c := range []struct {
		name, subuid, subgid string
		want                 users.Pool
		refused              bool
	}{
		{"none set aside", "", "", users.Rest(each), false},
		{"set aside for others", "someone:100000:65536\n", "someone:100000:65536\n", users.Rest(each), false},
		{"too few for the pods", "kubelet:65536:65536\n", "kubelet:65536:65536\n", users.Pool{}, true},
	} {
		got, err := userPool(c.subuid, c.subgid, each, 110)
		if got != c.want || (err != nil) != c.refused {
			t.Errorf("%s: got %+v, %v, want %+v, refused: %t", c.name, got, err, c.want, c.refused)
		}
	}
}
