package dra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	draapi "k8s.io/kubelet/pkg/apis/dra/v1"

	"nodal/host/outsider"
	"nodal/node"
)

// Bounds of what a driver may send. A claim of Kubernetes has 32 devices.
const (
	mostMessage = 4 << 20
	mostDevices = 256 // of a claim
	mostNames   = 256 // of CDI devices and requests, of a claim
	mostName    = 253
	mostWords   = 1000 // of an error
)

// services are those that a driver may have, the newest first. The messages of both are the same.
var services = []string{draapi.DRAPluginService, "v1beta1.DRAPlugin"}

// serviceOf returns the newest service of a driver that the node can use.
func serviceOf(versions []string) string {
	for _, service := range services {
		if slices.Contains(versions, service) {
			return service
		}
	}
	return ""
}

// call makes a call to a driver.
func (d *Drivers) call(ctx context.Context, driver, method string, asked, said proto.Message) error {
	p, err := d.find(driver)
	if err != nil {
		return err
	}
	conn, err := outsider.Dial(mostMessage, func(ctx context.Context) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", p.Info.Endpoint)
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	path := "/k8s.io.kubelet.pkg.apis.dra." + serviceOf(p.Info.Versions) + "/" + method
	began := time.Now()
	err = conn.Invoke(ctx, path, asked, said)
	if d.Counts != nil {
		d.Counts.ClaimsCalled(driver, path, err, time.Since(began))
	}
	if err != nil {
		status := grpcstatus.Convert(err)
		return fmt.Errorf("%s: rpc error: code = %s desc = %s", method, status.Code(), bare(status.Message()))
	}
	return nil
}

// named returns claims in the words of drivers.
func named(claims []node.ClaimRef) (list []*draapi.Claim) {
	for _, c := range claims {
		list = append(list, &draapi.Claim{Namespace: c.Namespace, Uid: string(c.UID), Name: c.Name})
	}
	return list
}

// devicesOf reads what a driver has answered for one claim.
func devicesOf(answer *draapi.NodePrepareResourceResponse) (devices []node.PreparedDevice, err error) {
	if answer.GetError() != "" {
		return nil, errors.New(bare(answer.GetError()))
	}
	if len(answer.GetDevices()) > mostDevices {
		return nil, fmt.Errorf("the driver answers with more than %d devices", mostDevices)
	}
	names := 0
	for _, d := range answer.GetDevices() {
		one := node.PreparedDevice{
			Requests: d.GetRequestNames(), Pool: d.GetPoolName(), Device: d.GetDeviceName(), ShareID: types.UID(d.GetShareId()),
			CDI: d.GetCdiDeviceIds(),
		}
		names += len(one.Requests) + len(one.CDI)
		if err := checkDevice(one); err != nil {
			return nil, err
		}
		devices = append(devices, one)
	}
	if names > mostNames {
		return nil, fmt.Errorf("the driver answers with more than %d names", mostNames)
	}
	return devices, nil
}

// checkDevice refuses a device that no container could have.
func checkDevice(d node.PreparedDevice) error {
	long := func(s string) bool { return len(s) > mostName }
	if long(d.Pool) || long(d.Device) || long(string(d.ShareID)) || slices.ContainsFunc(d.Requests, long) {
		return fmt.Errorf("the driver answers with a name of more than %d bytes", mostName)
	}
	for _, name := range d.CDI {
		vendor, device, ok := strings.Cut(name, "=")
		if long(name) || !ok || device == "" || !strings.Contains(vendor, "/") {
			return fmt.Errorf("%.300q is no name of a CDI device", name)
		}
	}
	return nil
}

// bare returns the beginning of a driver's message, in one line.
func bare(message string) string {
	message = strings.ToValidUTF8(message, "?")
	if len(message) > mostWords {
		message = strings.ToValidUTF8(message[:mostWords], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, message)
}
