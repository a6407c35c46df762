# A cluster on Amazon Web Services: one master, which launches and ends machines with GPUs and machines for tasks without slots as they are
# needed (docs/clouds.md), and a bucket for checkpoints. Before 'terraform destroy', end those machines: it does not know them.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws    = { source = "hashicorp/aws", version = "~> 5.0" }
    random = { source = "hashicorp/random", version = "~> 3.6" }
  }
}

locals {
  further_tags = { for tag in var.add_tag : split("=", tag)[0] => join("=", slice(split("=", tag), 1, length(split("=", tag)))) }
  tags         = merge(local.further_tags, { determined_cluster = var.cluster_id })
  # What both pools have in common: resource_pools[].provider of master.yaml.
  machines = {
    type                      = "aws"
    region                    = var.region
    image_id                  = data.aws_ssm_parameter.image.value
    ssh_key_name              = var.keypair
    network_interface         = { public_ip = true, security_group_id = aws_security_group.agent.id }
    iam_instance_profile_arn  = aws_iam_instance_profile.machine.arn
    agent_package_url         = var.package_url
    tag_value                 = var.cluster_id
    custom_tags               = [for key, value in local.tags : { key = key, value = value }]
    max_idle_agent_period     = var.max_idle_agent_period
    max_agent_starting_period = var.max_agent_starting_period
  }
  compute = merge(local.machines, {
    instance_name = "determined-agent-${var.cluster_id}-compute"
    instance_type = var.compute_agent_instance_type
    min_instances = var.min_dynamic_agents
    max_instances = var.max_dynamic_agents
    spot          = var.spot
  }, { for key, value in { spot_max_price = var.spot_max_price } : key => value if value != null })
  aux = merge(local.machines, {
    instance_name = "determined-agent-${var.cluster_id}-aux"
    instance_type = var.aux_agent_instance_type
    min_instances = 0
    max_instances = var.max_aux_agents
  })
}

provider "aws" {
  region  = var.region
  profile = var.profile
  default_tags { tags = local.tags }
}

# Ubuntu with NVIDIA's driver, for all machines.
data "aws_ssm_parameter" "image" {
  name = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
}

resource "random_password" "agent_token" {
  length  = 40
  special = false
}

resource "aws_s3_bucket" "checkpoints" {
  bucket_prefix = "det-${lower(var.cluster_id)}-"
  force_destroy = false
}

resource "aws_iam_role" "machine" {
  name_prefix = "det-${var.cluster_id}-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}

# The master launches machines, which get the role above. It reads and writes checkpoints, too.
resource "aws_iam_role" "master" {
  name_prefix        = "det-${var.cluster_id}-master-"
  assume_role_policy = aws_iam_role.machine.assume_role_policy
}

resource "aws_iam_role_policy" "machines" {
  role = aws_iam_role.master.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect = "Allow"
        Action = [
          "ec2:RunInstances", "ec2:TerminateInstances", "ec2:CreateTags", "ec2:DescribeInstances", "ec2:DescribeImages",
          "ec2:DescribeSpotInstanceRequests"
        ]
        Resource = "*"
      },
      { Effect = "Allow", Action = "iam:PassRole", Resource = aws_iam_role.machine.arn },
      {
        Effect    = "Allow"
        Action    = "iam:CreateServiceLinkedRole"
        Resource  = "*"
        Condition = { StringEquals = { "iam:AWSServiceName" = "spot.amazonaws.com" } }
      }
    ]
  })
}

resource "aws_iam_instance_profile" "master" {
  name_prefix = "det-${var.cluster_id}-master-"
  role        = aws_iam_role.master.name
}

resource "aws_iam_role_policy" "checkpoints" {
  for_each = { machine = aws_iam_role.machine.id, master = aws_iam_role.master.id }
  role     = each.value
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
      Resource = [aws_s3_bucket.checkpoints.arn, "${aws_s3_bucket.checkpoints.arn}/*"]
    }]
  })
}

resource "aws_iam_instance_profile" "machine" {
  name_prefix = "det-${var.cluster_id}-"
  role        = aws_iam_role.machine.name
}

resource "aws_security_group" "master" {
  name_prefix = "det-${var.cluster_id}-master-"
  ingress {
    description = "the API and agents"
    from_port   = 8080
    to_port     = 8080
    protocol    = "tcp"
    cidr_blocks = [var.inbound_cidr]
  }
  ingress {
    description     = "agents of this cluster"
    from_port       = 8080
    to_port         = 8080
    protocol        = "tcp"
    security_groups = [aws_security_group.agent.id]
  }
  ingress {
    description = "SSH"
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
    cidr_blocks = [var.inbound_cidr]
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

# Agents open no port to the world. Tasks on several machines talk to each other.
resource "aws_security_group" "agent" {
  name_prefix = "det-${var.cluster_id}-agent-"
  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_instance" "master" {
  ami                    = data.aws_ssm_parameter.image.value
  instance_type          = var.master_instance_type
  key_name               = var.keypair
  vpc_security_group_ids = [aws_security_group.master.id]
  iam_instance_profile   = aws_iam_instance_profile.master.name
  root_block_device { volume_size = 200 }
  metadata_options { http_tokens = "required" }
  tags = { Name = "determined-master-${var.cluster_id}" }
  user_data = templatefile("${path.module}/machine.sh.tftpl", {
    package_url = var.package_url
    packages    = "python3-boto3"
    program     = "determined-master"
    config = templatefile("${path.module}/master.yaml.tftpl", {
      cluster_id            = var.cluster_id
      bucket                = aws_s3_bucket.checkpoints.id
      agent_token           = random_password.agent_token.result
      initial_user_password = var.initial_user_password
      scheduler_type        = var.scheduler_type
      compute               = jsonencode(local.compute)
      aux                   = jsonencode(local.aux)
      aux_containers        = var.max_aux_containers_per_agent
    })
  })
  lifecycle { ignore_changes = [ami] }
}
