package address

import "testing"

const (
	head4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	net4  = "cni0\t0000F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	eth4  = "eth0\t00000000\t0100D30A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
	wlan4 = "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
	half4 = "tun0\t00000000\t0100080A\t0003\t0\t0\t50\t00000080\t0\t0\t0\n" // 0.0.0.0/1
	down4 = "eth1\t00000000\t0100D30A\t0002\t0\t0\t1\t00000000\t0\t0\t0\n"

	zeros = "00000000000000000000000000000000"
	net6  = "fd000000000000000000000000000000 40 " + zeros + " 00 " + zeros + " 00000100 00000001 00000000 00000001     eth0\n"
	eth6  = zeros + " 00 " + zeros + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"
	far6  = zeros + " 00 " + zeros + " 00 fe800000000000000000000000000001 00000500 00000001 00000000 00000003     eth9\n"
	no6   = zeros + " 00 " + zeros + " 00 " + zeros + " ffffffff 00000001 00000000 00200200       lo\n"
)

func TestTheDefaultRouteWithTheLeastMetricCounts(t *testing.T) {
	for _, c := range []struct {
		name           string
		table4, table6 string
		want4, want6   string
	}{
		{"no network", "", "", "", ""},
		{"none", head4 + net4, net6 + no6, "", ""},
		{"one of each family", head4 + net4 + eth4, net6 + no6 + eth6, "eth0", "eth0"},
		{"the least metric", head4 + wlan4 + eth4, far6 + eth6, "eth0", "eth0"},
		{"half of the addresses is no default", head4 + half4 + wlan4, "", "wlan0", ""},
		{"one that is down", head4 + down4 + wlan4, "", "wlan0", ""},
	} {
		if v4, v6 := DefaultLink4(c.table4), DefaultLink6(c.table6); v4 != c.want4 || v6 != c.want6 {
			t.Errorf("%s: got %q and %q, want %q and %q", c.name, v4, v6, c.want4, c.want6)
		}
	}
}
