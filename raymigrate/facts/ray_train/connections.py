"""What connects a script to a cluster of Ray that runs elsewhere, besides the address of `ray.init()`."""

CONNECTS = ("ray.client", "ray.util.connect", "ray.ClientBuilder", "ray.client_builder.client")
