package api

import (
	"errors"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/thumb"
	"larder/internal/thumb/picture"
)

// propertiesReply contains the owner of a file and properties of its content.
type propertiesReply struct {
	Owner        string   `json:"owner,omitempty" description:"Name of the account that the file counts for."`
	SHA256       string   `json:"sha256,omitempty" description:"Hexadecimal; missing while it is not known."`
	Camera       string   `json:"camera,omitempty" description:"Maker and model; this and the following only of a picture that states them."`
	Lens         string   `json:"lens,omitempty"`
	ExposureTime float64  `json:"exposureTime,omitempty" description:"Seconds."`
	Aperture     float64  `json:"aperture,omitempty" description:"F number."`
	ISO          int      `json:"iso,omitempty"`
	FocalLength  float64  `json:"focalLength,omitempty" description:"Millimetres."`
	Latitude     *float64 `json:"latitude,omitempty" description:"Degrees north of the equator; with longitude."`
	Longitude    *float64 `json:"longitude,omitempty" description:"Degrees east of Greenwich."`
	Altitude     *float64 `json:"altitude,omitempty" description:"Metres above the sea; only with latitude."`
}

// fileProperties handles GET /api/files/{id}/properties: further properties of a file, for callers
// who may download it. A child process reads the picture at each request. The results are not
// stored, because users open the details of few pictures.
func (a *API) fileProperties(c *call, in idInput) (propertiesReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return propertiesReply{}, err
	}
	found, err := a.Tree.FindID(c.ctx(), in.ID)
	if err != nil {
		return propertiesReply{}, err
	}
	content, err := found.ContentFor(c.actor)
	if err != nil {
		return propertiesReply{}, err
	}
	properties, err := a.Tree.FileProperties(c.ctx(), content)
	if err != nil {
		return propertiesReply{}, err
	}
	camera, err := c.cameraOf(content)
	if err != nil {
		return propertiesReply{}, err
	}
	reply := propertiesReply{
		Owner: properties.Owner, SHA256: properties.SHA256, Camera: camera.Name(), Lens: camera.Lens,
		ExposureTime: camera.Exposure, Aperture: camera.Aperture, ISO: camera.ISO, FocalLength: camera.Focal,
		Altitude: camera.Altitude,
	}
	if p := camera.Coordinates; p != nil {
		reply.Latitude, reply.Longitude = &p.Latitude, &p.Longitude
	}
	return reply, nil
}

// cameraOf reads the camera, the exposure and the coordinates of a picture. It returns the zero
// Camera for a file of another type, for a picture that cannot be read, and if the system cannot
// confine child processes or is too busy. Fault: RateLimited, if too many requests wait.
func (c *call) cameraOf(content files.Content) (picture.Camera, error) {
	if c.a.Thumbs == nil || !isRaster(content.Entry) || c.omitBodyForHead() {
		return picture.Camera{}, nil
	}
	from := thumb.Source{ID: content.ID, Size: content.Entry.Size, Open: content.OpenPictureHead}
	camera, err := c.a.Thumbs.Camera(c.ctx(), c.limitKey(""), from)
	switch {
	case fault.Is(err, fault.NotFound), errors.Is(err, picture.ErrUnconfined):
		return picture.Camera{}, nil
	case fault.Is(err, fault.Unavailable), fault.Is(err, fault.Damaged), errors.Is(err, thumb.ErrBusy):
		c.a.Log.Warn("read the properties of a picture", "request_id", c.requestID, "error", err)
		return picture.Camera{}, nil
	}
	return camera, err
}
